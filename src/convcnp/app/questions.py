"""What a page may ask, and what it is answered: the bodies of requests, checked by pydantic."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

LEVELS = (0.05, 0.25, 0.75, 0.95)  # of quantiles: the edges of the 90 % and the 50 % band

Number = Annotated[float, Field(ge=-1e12, le=1e12)]
Numbers = list[float | None]
Name = Annotated[str, Field(max_length=200)]
Seed = Annotated[int, Field(ge=0, le=2**31 - 1)]
Kind = Literal["eq", "matern", "weakly-periodic", "sawtooth"]


class Body(BaseModel):
    """A body without unknown fields, infinities or numbers that are none."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)


# --- Models ---------------------------------------------------------------------------------------


class Shipped(BaseModel):
    """A model that ships with the package, with its numbers and the paper's."""

    name: str
    use: str  # what it is for, in a sentence
    data: str
    takes: Literal["tables", "images"]
    inputs: int
    outputs: int
    log_likelihood: float
    standard_error: float
    paper: tuple[float, float] | None
    parameters: int
    bytes: int
    completes: bool  # pictures of any size


# --- Series ---------------------------------------------------------------------------------------


class UploadedTable(BaseModel):
    """A table that was read."""

    table: str
    name: str
    rows: int
    columns: list[str]
    warnings: list[str]


class SeriesQuestion(Body):
    """A table, the columns that are named, and the model: what a command line says."""

    table: Name
    model: Name = "general"
    time: Name | None = None
    values: Annotated[list[Name], Field(max_length=50)] = []
    group: Name | None = None
    ahead: Annotated[int, Field(ge=0, le=1000)] = 0
    samples: Annotated[int, Field(ge=0, le=20)] = 0
    seed: Seed = 0


class ViewQuestion(SeriesQuestion):
    """Which series is looked at."""

    series: Annotated[int, Field(ge=0)] = 0


class CurveQuestion(ViewQuestion):
    """Where on a chart the curve is wanted; over the whole series if left out."""

    low: float | None = None
    high: float | None = None
    places: Annotated[int, Field(ge=2, le=2000)] = 240


class Gap(BaseModel):
    """Times without values, from the value before to the value after."""

    start: float
    end: float
    text: str
    missing: int


class Observed(BaseModel):
    """The observations of one series."""

    x: list[float]
    values: dict[str, Numbers]


class Understanding(BaseModel):
    """What was understood of a table, in words and for a chart."""

    description: str
    remarks: list[str]
    warnings: list[str]
    time: str
    values: list[str]
    group: str | None
    labels: list[str]
    axis: Literal["date", "duration", "number"]
    span: tuple[float, float]
    step: float | None  # the usual one, from row to row
    observed: Observed
    gaps: list[Gap]
    command: str
    python: str


class Band(BaseModel):
    """A prediction along a curve: its mean, the edges of its bands, and curves drawn from it."""

    name: str
    mean: Numbers
    q05: Numbers
    q25: Numbers
    q75: Numbers
    q95: Numbers
    samples: list[Numbers] = []
    log_likelihood: float | None = None


class Curve(BaseModel):
    """Predictions along a chart."""

    x: list[float]
    bands: list[Band]
    warnings: list[str] = []


# --- Playground -----------------------------------------------------------------------------------

Point = tuple[Number, Number]


class PlaygroundQuestion(Body):
    """Points in a plane, and the models that are to predict along it."""

    points: Annotated[list[Point], Field(max_length=500)]
    hidden: Annotated[list[Point], Field(max_length=500)] = []
    low: Number
    high: Number
    places: Annotated[int, Field(ge=2, le=2000)] = 400
    models: Annotated[list[Name], Field(max_length=3)] = []
    exact: Kind | None = None


class DrawQuestion(Body):
    """A new function of a kind."""

    kind: Kind
    seed: Seed
    points: Annotated[int, Field(ge=3, le=100)] = 30


class Drawn(BaseModel):
    """A function, the points at which it is seen, and those that are hidden."""

    x: list[float]
    y: list[float]
    points: list[tuple[float, float]]
    hidden: list[tuple[float, float]]


# --- Pictures -------------------------------------------------------------------------------------


class UploadedPicture(BaseModel):
    """A picture that was decoded."""

    picture: str
    name: str
    width: int
    height: int
    missing: int


class PictureQuestion(Body):
    """Which pixels of a picture are missing, and the model that is to fill them.

    The mask has a bit for every pixel, row by row and the largest bit of a byte first, as base64.
    """

    picture: Name
    model: Name | None = None
    keep: Annotated[float, Field(gt=0, lt=1)] | None = None
    seed: Seed = 1
    mask: Annotated[str, Field(max_length=6 * 2**20)] | None = None


class Completed(BaseModel):
    """What came of a picture; its images are asked for by name."""

    completion: str
    sentence: str
    warnings: list[str]
    doubt: float  # the largest standard deviation
    command: str
