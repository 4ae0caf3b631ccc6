"""What experiment files name: data sets and models, each imported when it is first asked for."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from convcnp.core.heads import Head, make_head
from convcnp.data.source import NamedSource
from convcnp.errors import ExperimentError, did_you_mean
from convcnp.models.base import Model

_Entry = TypeVar("_Entry")


class Catalogue(Mapping[str, _Entry], Generic[_Entry]):
    """A dictionary whose entries are made when they are first asked for, and then kept.

    So that a prediction with one model does not import the data sets of all others.
    """

    def __init__(self, entries: Mapping[str, Callable[[], _Entry]]) -> None:
        self._entries = dict(entries)
        self._made: dict[str, _Entry] = {}

    def __getitem__(self, name: str) -> _Entry:
        if name not in self._made:
            self._made[name] = self._entries[name]()
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


class BuiltModel(NamedTuple):
    """A model that files can name, and what it is built of.

    `build` takes the dimensions of inputs and outputs, a head, and settings: the keyword-only
    arguments of the functions in `settings`. Those of `make_head` are settings as well. A model
    that makes its head itself has none.
    """

    build: Callable[..., Model]
    settings: tuple[Callable[..., Any], ...]
    make_head: Callable[..., Head] | None


def _attribute(path: str) -> Any:  # noqa: ANN401 - whatever the path names
    """Return what `data.functions:GPSource` names within the package."""
    module, _, names = path.partition(":")
    found = importlib.import_module(f"convcnp.{module}")
    for name in names.split("."):
        found = getattr(found, name)
    return found


def _source(path: str, **options: Any) -> Callable[[], NamedSource]:
    return lambda: _attribute(path)(**options)


def _gaussian_process(kernel: str, **options: float) -> Callable[[], NamedSource]:
    kernels = "models.gaussian_process"
    return lambda: _attribute("data.functions:GPSource")(
        kernel=_attribute(f"{kernels}:{kernel}")(**options)
    )


def _broad_lotka_volterra() -> NamedSource:
    from convcnp.data.lotka_volterra import BROAD, LotkaVolterraSource, Outcome

    return LotkaVolterraSource(
        rates=BROAD, kept=(Outcome.SURVIVED,), max_time=50.0, max_events=25_000
    )


def _model(
    build: str,
    *,
    before: str | None = None,
    after: str | None = None,
    head: str | None = "make_head",
) -> Callable[[], BuiltModel]:
    """Return how to make an entry.

    Args:
        before: A function whose settings it has as well, and which come first.
        after: One whose settings come last, and whose defaults count.
    """

    def entry() -> BuiltModel:
        paths = [path for path in (before, build, after) if path is not None]
        settings = {path: _attribute(f"models.{path}") for path in paths}
        make_head = None if head is None else _attribute(f"core.heads:{head}")
        return BuiltModel(settings[build], tuple(settings.values()), make_head)

    return entry


SOURCES: Catalogue[NamedSource] = Catalogue(
    {
        "eq": _gaussian_process("EQ"),
        "matern": _gaussian_process("Matern52"),
        "weakly-periodic": _gaussian_process("WeaklyPeriodic"),
        # Paper: prints an envelope of length scale 2; its table fits the kernel above.
        "weakly-periodic-printed": _gaussian_process("WeaklyPeriodic", envelope=2.0),
        "sawtooth": _source("data.functions:SawtoothSource"),
        "series": _source("data.random_series:SeriesSource"),
        "simulated-series": _source("data.simulated_series:SimulatedSeries"),
        "mixed-series": _source("data.mixed_series:MixedSeries"),
        "simulated-fields": _source("data.simulated_fields:SimulatedFields"),
        "lotka-volterra": _source("data.lotka_volterra:LotkaVolterraSource"),
        "lotka-volterra-broad": _broad_lotka_volterra,
        "fur-counts": _source("data.fur_counts:FurCounts"),
        "plasticc": _source("data.plasticc:PlasticcSource"),
        "table": _source("data.table:TableSource"),
        "mnist": _source("data.images.mnist:Mnist"),
        "svhn": _source("data.images.svhn:Svhn"),
        "celeba32": _source("data.images.celeba:CelebA", size=32),
        "celeba64": _source("data.images.celeba:CelebA", size=64),
        "celeba": _source("data.images.celeba:CelebA", size=None),
        "zsmm": _source("data.images.mnist:Zsmm"),
        "image-folder": _source("data.images.folder:ImageFolder"),
        "dead-leaves": _source("data.images.dead_leaves:DeadLeaves"),
        "mixed-images": _source("data.images.mixed:MixedImages"),
    }
)

MODELS: Catalogue[BuiltModel] = Catalogue(
    {
        "cnp": _model("cnp:CNP"),
        "attncnp": _model("attncnp:AttnCNP"),
        "image-attncnp": _model("attncnp:AttnCNP.for_images", head="make_pixel_head"),
        "convcnp": _model("convcnp:ConvCNP.small", after="convcnp:ConvCNP"),
        "convcnpxl": _model("convcnp:ConvCNP.xl", after="convcnp:ConvCNP"),
        "grid-convcnp": _model(
            "grid_convcnp:GridConvCNP.small",
            before="grid_convcnp:GridEncoder",
            head="make_pixel_head",
        ),
        "grid-unet": _model("grid_convcnp:GridConvCNP.unet", head="make_pixel_head"),
        "grid-convcnpxl": _model("grid_convcnp:GridConvCNP.xl", head="make_pixel_head"),
        "convcnp-ours": _model(
            "convcnp:ConvCNP.residual",
            before="convcnp:behind_filters",
            after="convcnp:ConvCNP",
        ),
        "convcnp-measured": _model(
            "measured:MeasuredConvCNP.residual",
            before="convcnp:ConvCNP",
            after="measured:MeasuredConvCNP",
        ),
        "gp-dictionary": _model("dictionary.model:GaussianProcessDictionary.standard", head=None),
        "plane-dictionary": _model("dictionary.plane:PlaneDictionary.standard", head=None),
        "corrected-dictionary": _model("corrected:CorrectedDictionary", head=None),
    }
)


def find_source(name: str) -> NamedSource:
    """Return the source of a name of `SOURCES`, or of a user's own class, `my_module:Lines`."""
    if ":" not in name:
        return SOURCES[_known("data", name, SOURCES)]
    made = _users_own("data", name)
    try:
        source = made() if inspect.isclass(made) else made
    except Exception as error:  # the user's code raises what it likes
        raise ExperimentError(
            f"data must name a class that needs no arguments, but {name!r} raises {error!r}; give "
            "its fields defaults."
        ) from error
    if not isinstance(source, NamedSource) or not dataclasses.is_dataclass(source):
        raise ExperimentError(
            f"data must name a source of tasks, such as a subclass of FunctionSource, but {name!r} "
            "is none; derive it from one."
        )
    return source


def find_model(name: str) -> BuiltModel:
    """Return the entry of a name of `MODELS`, or of a user's own class, `my_module:Model`.

    Such a class takes `dim_x`, `dim_y` and `head`, as all models do.
    """
    if ":" not in name:
        return MODELS[_known("model", name, MODELS)]
    build = _users_own("model", name)
    if not callable(build):
        raise ExperimentError(
            f"model must name a class or function that builds a model, but {name!r} is none; check "
            "the name."
        )
    return BuiltModel(build, (build,), make_head)


def _users_own(kind: str, name: str) -> Any:  # noqa: ANN401 - whatever the user's module holds
    """Import what `my_module:Lines` names, from the working directory or what is installed."""
    module, _, attribute = name.partition(":")
    sys.path.append(os.getcwd())  # noqa: PTH109 - a text; last, so that it hides nothing installed
    try:
        found = importlib.import_module(module)
    except Exception as error:  # of any kind: the module is the user's
        raise ExperimentError(
            f"{kind} must name a module that can be imported, got {name!r} ({error}); run this "
            f"where {module.split('.')[0]}.py is, or install it."
        ) from error
    finally:
        sys.path.pop()
    if not hasattr(found, attribute):
        raise ExperimentError(
            f"{kind} must name a class of {module}, got {attribute!r}"
            f"{did_you_mean(attribute, vars(found))}"
        )
    return getattr(found, attribute)


def _known(kind: str, name: str, known: Iterable[str]) -> str:
    names = list(known)
    if name not in names:
        raise ExperimentError(
            f"{kind} must be one of {', '.join(names)}, got {name!r}{did_you_mean(name, names)}"
        )
    return name
