"""The server: one endpoint per question, with errors as sentences."""

# No `from __future__ import annotations`: FastAPI reads the annotations of endpoints.

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Header, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse, Response, StreamingResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from convcnp import __version__
from convcnp.app import playground, series
from convcnp.app.examples import EXAMPLES, example
from convcnp.app.lanes import Deadline, Lane
from convcnp.app.limits import Limits
from convcnp.app.questions import (
    Curve,
    CurveQuestion,
    Drawn,
    DrawQuestion,
    PlaygroundQuestion,
    SeriesQuestion,
    Shipped,
    Understanding,
    UploadedTable,
    ViewQuestion,
)
from convcnp.app.refusals import GoneError, Refusal, refused
from convcnp.app.shelf import Page, Shelf
from convcnp.app.shipped import Models
from convcnp.app.uploads import read_upload, warnings_heard
from convcnp.errors import ConvCNPError, ShapeError

STATIC = Path(__file__).with_name("static")
_BEAT = 5.0  # seconds between signs of life to an open page


@dataclass
class Desk:
    """What the endpoints share: models, pages and threads.

    Tables and the decoding of pictures have one thread: both filter warnings, which are the whole
    process's. Whoever plays or looks at the page does not wait for it.
    """

    limits: Limits = field(default_factory=Limits)
    models: Models = field(default_factory=Models)

    def __post_init__(self) -> None:
        seconds = self.limits.seconds
        self.shelf = Shelf(self.limits)
        self.tables = Lane("tables", threads=1, waiting=8, seconds=seconds)
        self.playground = Lane("the playground", threads=2, waiting=64, seconds=seconds)

    def close(self) -> None:
        """Start no more work."""
        for lane in (self.tables, self.playground):
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

    return as_json(await desk.tables.run(work))


@router.post("/series/understanding", response_model=Understanding)
async def understand_series(question: ViewQuestion, desk: AtDesk, page: OfPage) -> Response:
    """Say which columns are what, where the gaps are, and what a command would be."""
    upload = page.find(series.Upload, question.table)

    def work(deadline: Deadline) -> Understanding:
        return series.understand(upload, question, desk.models[question.model])

    return as_json(await desk.tables.run(work))


@router.post("/series/curve", response_model=Curve)
async def predict_curve(question: CurveQuestion, desk: AtDesk, page: OfPage) -> Response:
    """Predict one series along the part of it that a chart shows."""
    upload = page.find(series.Upload, question.table)

    def work(deadline: Deadline) -> Curve:
        return series.curve(upload, question, desk.models[question.model], deadline)

    return as_json(await desk.tables.run(work))


@router.post("/series/answer.csv", response_class=PlainTextResponse)
async def download_answer(question: SeriesQuestion, desk: AtDesk, page: OfPage) -> Response:
    """Return the table that the command would write."""
    upload = page.find(series.Upload, question.table)

    def work(deadline: Deadline) -> str:
        return series.answer_csv(upload, question, desk.models[question.model], deadline)

    return Response(await desk.tables.run(work), media_type="text/csv")


@router.post("/series/picture.png", response_class=Response)
async def download_picture(question: SeriesQuestion, desk: AtDesk, page: OfPage) -> Response:
    """Return the picture that the command would draw."""
    upload = page.find(series.Upload, question.table)

    def work(deadline: Deadline) -> bytes:
        return series.picture(upload, question, desk.models[question.model], deadline)

    return Response(await desk.tables.run(work), media_type="image/png")


# --- Playground -----------------------------------------------------------------------------------


@router.post("/playground", response_model=Curve)
async def play(question: PlaygroundQuestion, desk: AtDesk) -> Response:
    """Predict along a plane of points by some models, and by the exact GP."""
    return as_json(await desk.playground.run(lambda _: playground.play(question, desk.models)))


@router.post("/playground/function", response_model=Drawn)
async def draw_function(question: DrawQuestion, desk: AtDesk) -> Response:
    """Draw a new function of a kind, and hide part of it."""
    return as_json(await desk.playground.run(lambda _: playground.draw(question)))


# --- Errors ---------------------------------------------------------------------------------------


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, ConvCNPError)
    return refused(error)


async def _refuse_body(request: Request, error: Exception) -> Response:
    """Put what pydantic found into a sentence."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part not in ("body", "query"))
    return refused(
        ShapeError(
            f"Expected a request as the API describes it, got one whose {where or 'body'} is not: "
            f"{first['msg'][:1].lower()}{first['msg'][1:]}; see /api.html."
        )
    )


async def _refuse_http(request: Request, error: Exception) -> Response:
    """Answer what the framework refuses; it hides our own reason while a body is read."""
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, ConvCNPError):
        return refused(error.__cause__)
    found = GoneError(
        f"Expected a question of the API, got {request.method} {request.url.path[:100]} "
        f"({error.detail}); see /api.html."
    )
    found.status = error.status_code
    return refused(found)


async def _apologise(request: Request, error: Exception) -> Response:
    """Answer a mistake of ours, or that memory ran out; the log has the rest."""
    sentence = (
        "Expected this to fit into memory, but there is not enough; ask for less at once."
        if isinstance(error, MemoryError)
        else "Expected an answer, but the server made a mistake, which its terminal shows; please "
        "report it."
    )
    refusal = Refusal(sentence)
    refusal.status = 500
    return refused(refusal)


def build_api(desk: Desk) -> FastAPI:
    """Return the endpoints and the static page, without any door."""
    app = FastAPI(
        title="convcnp",
        version=__version__,
        summary="The questions that the page asks.",
        docs_url=None,  # it would load scripts from elsewhere; api.html shows the same
        redoc_url=None,
        exception_handlers={
            ConvCNPError: _refuse,
            RequestValidationError: _refuse_body,
            HTTPException: _refuse_http,
            Exception: _apologise,
        },
    )
    app.state.desk = desk
    app.include_router(router)
    app.mount("/", StaticFiles(directory=STATIC, html=True))
    return app
