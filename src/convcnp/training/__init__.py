"""From an experiment to a run's directory."""

from typing import TYPE_CHECKING

from convcnp.extras import imported_when_used

if TYPE_CHECKING:
    from convcnp.training.evaluation import Score as Score
    from convcnp.training.experiment import EvaluationSettings as EvaluationSettings
    from convcnp.training.experiment import Experiment as Experiment
    from convcnp.training.loop import TrainingSettings as TrainingSettings
    from convcnp.training.loop import train as train

_NAMES = {
    "train": "loop",
    "TrainingSettings": "loop",
    "Experiment": "experiment",
    "EvaluationSettings": "experiment",
    "Score": "evaluation",
}

__all__ = list(_NAMES)
__getattr__, __dir__ = imported_when_used(__name__, _NAMES)
