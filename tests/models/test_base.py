"""What every model has in common."""

import pytest
import torch

from convcnp.core.heads import GaussianHead, MixtureHead
from convcnp.core.predictive import GaussianPredictive, MixturePredictive
from convcnp.errors import SettingError, ShapeError
from convcnp.models.attncnp import AttnCNP
from convcnp.models.base import Model
from convcnp.models.cnp import CNP
from convcnp.models.convcnp import ConvCNP
from helpers import moments, random_task


class Constant(Model):
    """Predict the same everywhere: the least a model has to say."""

    def __init__(self, head):
        super().__init__(1, 1, head)
        self.level = torch.nn.Parameter(torch.tensor(0.5))

    def raw(self, task):
        count = self.to_predictive.channels(self.dim_y)
        return self.level.expand(*task.x_target.shape[:2], count)


def test_a_new_model_is_one_method():
    model = Constant(GaussianHead())
    predictive = model(random_task(batch_size=2))
    assert isinstance(predictive, GaussianPredictive)
    assert predictive.mean.unique().tolist() == [0.5]
    assert isinstance(Constant(MixtureHead())(random_task()), MixturePredictive)
    assert model.num_parameters == 1
    assert model.dtype == torch.float32


def test_a_model_that_says_no_more_sees_everything_needs_no_grid_and_has_no_tiles():
    model, task = Constant(GaussianHead()), random_task(batch_size=3)
    assert model.receptive_radius == float("inf")
    assert model.cells(task).tolist() == [0, 0, 0]
    with pytest.raises(SettingError, match="predicts in tiles, got a Constant"):
        next(iter(model.tiles(task, 100)))


@pytest.mark.parametrize("build", [CNP, AttnCNP, ConvCNP.small, ConvCNP.xl])
def test_sigma_has_a_floor(build):
    model = build(head=GaussianHead(0.1)).eval()
    with torch.no_grad():
        last = model.decoder[-1] if isinstance(model, CNP) else model.head
        last.bias.fill_(-100.0)
    stddev = moments(model, random_task())[1]
    assert stddev.max().item() == pytest.approx(0.1, abs=1e-6)


@pytest.mark.parametrize("build", [CNP, AttnCNP, ConvCNP.small, lambda: CNP(2, 3)])
def test_a_task_of_other_dimensions_is_refused(build):
    model = build()
    for dim_x, dim_y in [(model.dim_x + 1, model.dim_y), (model.dim_x, model.dim_y + 1)]:
        expected = (
            rf"This model takes tasks with Dx = {model.dim_x} .* and Dy = {model.dim_y} .*, "
            rf"got Dx = {dim_x} and Dy = {dim_y}; choose the columns to match"
        )
        with pytest.raises(ShapeError, match=expected):
            model(random_task(dim_x, dim_y))
