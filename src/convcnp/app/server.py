"""The server: one endpoint per question, with errors as sentences."""

# No `from __future__ import annotations`: FastAPI reads the annotations of endpoints.

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Header, Query, Request
from fastapi.responses import PlainTextResponse, Response, StreamingResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel

from convcnp.app import figures, pictures, playground, series
from convcnp.app.examples import EXAMPLES, example
from convcnp.app.lanes import Deadline, Lane
from convcnp.app.limits import Limits
from convcnp.app.questions import (
    Completed,
    Curve,
    CurveQuestion,
    Drawn,
    DrawQuestion,
    PictureQuestion,
    PlaygroundQuestion,
    SeriesQuestion,
    Shipped,
    Understanding,
    UploadedPicture,
    UploadedTable,
    ViewQuestion,
)
from convcnp.app.refusals import HANDLERS
from convcnp.app.shelf import Page, Shelf
from convcnp.app.shipped import Models
from convcnp.app.uploads import read_upload, warnings_heard
from convcnp.errors import ConvCNPError
from convcnp.predict.completion import default_model
from convcnp.training.provenance import versions

STATIC = Path(__file__).with_name("static")
_BEAT = 5.0  # seconds between signs of life to an open page


@dataclass
class Desk:
    """What the endpoints share: models, pages and threads.

    Tables and pictures have one thread: reading and predicting them filters warnings, which are the
    whole process's. Whoever plays or looks at the page does not wait for it.
    """

    limits: Limits = field(default_factory=Limits)
    models: Models = field(default_factory=Models)

    def __post_init__(self) -> None:
        seconds = self.limits.seconds
        self.shelf = Shelf(self.limits)
        self.work = Lane("tables and pictures", threads=1, waiting=8, seconds=seconds)
        self.playground = Lane("the playground", threads=2, waiting=64, seconds=seconds)

    def close(self) -> None:
        """Start no more work."""
        for lane in (self.work, self.playground):
            lane.close()


def _desk(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


AtDesk = Annotated[Desk, Depends(_desk)]


def _page(desk: AtDesk, x_page: Annotated[str, Header(max_length=100)] = "") -> Page:
    return desk.shelf.page(x_page)


OfPage = Annotated[Page, Depends(_page)]
FileName = Annotated[str, Query(max_length=200)]

router = APIRouter(prefix="/api")


def as_json(answer: BaseModel) -> Response:
    """Answer at once: what we made ourselves needs no second check, which takes longer."""
    return Response(answer.model_dump_json(), media_type="application/json")


# --- Pages ----------------------------------------------------------------------------------------


@router.get("/page")
async def open_page(desk: AtDesk) -> StreamingResponse:
    """Open a page: a stream of events that lasts as long as the page, and what it uploads.

    The first event names the page; others only say that the server is there.
    """
    name = desk.shelf.open()

    async def events() -> AsyncIterator[str]:
        try:
            yield f"event: hello\ndata: {name}\n\n"
            while True:
                await asyncio.sleep(_BEAT)
                yield ": still here\n\n"
        finally:
            desk.shelf.close(name)

    return StreamingResponse(events(), media_type="text/event-stream")


# --- Models ---------------------------------------------------------------------------------------


@router.get("/models", response_model=list[Shipped])
async def list_models(desk: AtDesk) -> list[Shipped]:
    """List the models that ship with the package, with their numbers and the paper's."""
    return desk.models.listed


@router.get("/models/{name}/figure.png", response_class=Response)
async def draw_model(name: str, desk: AtDesk) -> Response:
    """Return a figure of what a model predicts."""
    content = await desk.work.run(lambda _: figures.figure(desk.models[name]))
    return Response(content, media_type="image/png")


# --- Series ---------------------------------------------------------------------------------------


@router.get("/examples", response_model=dict[str, str])
async def list_examples() -> dict[str, str]:
    """List the example tables by name, each with a sentence."""
    return EXAMPLES


@router.post("/tables", response_model=UploadedTable)
async def upload_table(
    request: Request, desk: AtDesk, page: OfPage, name: FileName = "table.csv"
) -> Response:
    """Read a table, CSV, TSV, Parquet or Excel, and keep it while the page is open."""
    content = await request.body()
    return await _keep_table(desk, page, name, content)


@router.post("/examples/{name}", response_model=UploadedTable)
async def take_example(name: str, desk: AtDesk, page: OfPage) -> Response:
    """Take one of the example tables, as if it was uploaded."""
    return await _keep_table(desk, page, f"{name}.csv", example(name))


async def _keep_table(desk: Desk, page: Page, name: str, content: bytes) -> Response:
    def work(deadline: Deadline) -> UploadedTable:
        with warnings_heard() as heard:
            frame = read_upload(content, name, desk.limits)
        return UploadedTable(
            table=page.keep(series.Upload(name, frame)),
            name=name,
            rows=len(frame),
            columns=list(frame.columns),
            warnings=heard,
        )

    return as_json(await desk.work.run(work))


@router.post("/series/understanding", response_model=Understanding)
async def understand_series(question: ViewQuestion, desk: AtDesk, page: OfPage) -> Response:
    """Say which columns are what, where the gaps are, and what a command would be."""
    upload = page.find(series.Upload, question.table)

    def work(deadline: Deadline) -> Understanding:
        return series.understand(upload, question, desk.models[question.model])

    return as_json(await desk.work.run(work))


@router.post("/series/curve", response_model=Curve)
async def predict_curve(question: CurveQuestion, desk: AtDesk, page: OfPage) -> Response:
    """Predict one series along the part of it that a chart shows."""
    upload = page.find(series.Upload, question.table)

    def work(deadline: Deadline) -> Curve:
        return series.curve(upload, question, desk.models[question.model], deadline)

    return as_json(await desk.work.run(work))


@router.post("/series/answer.csv", response_class=PlainTextResponse)
async def download_answer(question: SeriesQuestion, desk: AtDesk, page: OfPage) -> Response:
    """Return the table that the command would write."""
    upload = page.find(series.Upload, question.table)

    def work(deadline: Deadline) -> str:
        return series.answer_csv(upload, question, desk.models[question.model], deadline)

    return Response(await desk.work.run(work), media_type="text/csv")


@router.post("/series/picture.png", response_class=Response)
async def download_picture(question: SeriesQuestion, desk: AtDesk, page: OfPage) -> Response:
    """Return the picture that the command would draw."""
    upload = page.find(series.Upload, question.table)

    def work(deadline: Deadline) -> bytes:
        return series.picture(upload, question, desk.models[question.model], deadline)

    return Response(await desk.work.run(work), media_type="image/png")


# --- Playground -----------------------------------------------------------------------------------


@router.post("/playground", response_model=Curve)
async def play(question: PlaygroundQuestion, desk: AtDesk) -> Response:
    """Predict along a plane of points by some models, and by the exact GP."""
    return as_json(await desk.playground.run(lambda _: playground.play(question, desk.models)))


@router.post("/playground/function", response_model=Drawn)
async def draw_function(question: DrawQuestion, desk: AtDesk) -> Response:
    """Draw a new function of a kind, and hide part of it."""
    return as_json(await desk.playground.run(lambda _: playground.draw(question)))


# --- Pictures -------------------------------------------------------------------------------------


@router.post("/pictures", response_model=UploadedPicture)
async def upload_picture(
    request: Request, desk: AtDesk, page: OfPage, name: FileName = "picture.png"
) -> Response:
    """Decode a picture, and keep it while the page is open."""
    content = await request.body()

    def work(deadline: Deadline) -> UploadedPicture:
        picture = pictures.Picture.read(content, name, desk.limits)
        height, width = picture.photo.shape
        return UploadedPicture(
            picture=page.keep(picture),
            name=name,
            width=width,
            height=height,
            missing=int(picture.photo.missing.sum()),
        )

    return as_json(await desk.work.run(work))


@router.get("/pictures/{name}.png", response_class=Response)
async def show_picture(name: str, desk: AtDesk, page: OfPage) -> Response:
    """Return a picture of this page as it was decoded, upright."""
    picture = page.find(pictures.Picture, name)
    return Response(await desk.work.run(lambda _: picture.png()), media_type="image/png")


@router.post("/complete", response_model=Completed)
async def complete_picture(
    question: PictureQuestion, desk: AtDesk, page: OfPage
) -> StreamingResponse:
    """Fill the missing pixels of a picture; lines of JSON say how far it is, the last what came."""
    picture = page.find(pictures.Picture, question.picture)
    predictor = desk.models[question.model or default_model()]

    def work(deadline: Deadline) -> Completed:
        found = pictures.complete(picture, question, predictor, deadline)
        return Completed(
            completion=page.keep(found),
            sentence=found.sentence,
            warnings=found.warnings,
            doubt=found.largest,
            command=pictures.as_command(picture.name, question, predictor.name),
        )

    lines = told(desk.work, work)
    first = await anext(lines)  # what is refused at once is refused with its status

    async def rest() -> AsyncIterator[str]:
        yield first
        async for line in lines:
            yield line

    return StreamingResponse(rest(), media_type="application/x-ndjson")


async def told(lane: Lane, work: Callable[[Deadline], BaseModel]) -> AsyncIterator[str]:
    """Yield lines of JSON while some work is done: how far it is, and at last the answer."""
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[str | None]()

    def tell(done: int, total: int) -> None:
        line = json.dumps({"done": done, "total": total}) + "\n"
        loop.call_soon_threadsafe(queue.put_nowait, line)

    task = asyncio.create_task(lane.run(work, tell))
    task.add_done_callback(lambda _: queue.put_nowait(None))
    has_begun = False
    while (line := await queue.get()) is not None:
        has_begun = True
        yield line
    try:
        yield (await task).model_dump_json() + "\n"
    except ConvCNPError as error:
        if not has_begun:
            raise
        yield json.dumps({"error": str(error)}) + "\n"


@router.get("/completions/{name}/{part}.png", response_class=Response)
async def show_completion(name: str, part: pictures.Part, desk: AtDesk, page: OfPage) -> Response:
    """Return what was given, what came of it, or the doubt about it."""
    found = page.find(pictures.Completion, name)
    return Response(await desk.work.run(lambda _: found.part(part)), media_type="image/png")


def build_api(desk: Desk) -> FastAPI:
    """Return the endpoints and the static page, without any door."""
    app = FastAPI(
        title="convcnp",
        version=versions()["convcnp"],
        summary="The questions that the page asks.",
        docs_url=None,  # it would load scripts from elsewhere; api.html shows the same
        redoc_url=None,
        exception_handlers=HANDLERS,
    )
    app.state.desk = desk
    app.include_router(router)
    app.mount("/", StaticFiles(directory=STATIC, html=True))
    return app
