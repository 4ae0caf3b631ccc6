"""Sources of tasks, one per file."""

from typing import TYPE_CHECKING

from convcnp.extras import imported_when_used

if TYPE_CHECKING:
    from convcnp.data.functions import FunctionSource as FunctionSource
    from convcnp.data.functions import GPSource as GPSource
    from convcnp.data.functions import SawtoothSource as SawtoothSource
    from convcnp.data.lotka_volterra import LotkaVolterraSource as LotkaVolterraSource
    from convcnp.data.plasticc import PlasticcSource as PlasticcSource
    from convcnp.data.random_series import SeriesSource as SeriesSource
    from convcnp.data.simulated_series import SimulatedSeries as SimulatedSeries
    from convcnp.data.source import FiniteSource as FiniteSource
    from convcnp.data.source import NamedSource as NamedSource
    from convcnp.data.source import Source as Source
    from convcnp.data.source import seeded as seeded
    from convcnp.data.table import TableSource as TableSource

_NAMES = {
    "Source": "source",
    "NamedSource": "source",
    "FiniteSource": "source",
    "seeded": "source",
    "FunctionSource": "functions",
    "GPSource": "functions",
    "SawtoothSource": "functions",
    "SeriesSource": "random_series",
    "SimulatedSeries": "simulated_series",
    "LotkaVolterraSource": "lotka_volterra",
    "PlasticcSource": "plasticc",
    "TableSource": "table",
}

__all__ = list(_NAMES)
__getattr__, __dir__ = imported_when_used(__name__, _NAMES)
