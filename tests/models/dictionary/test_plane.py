"""The dictionary of the plane: an exact GP where it has one entry, and what changes nothing."""

import numpy as np
import pytest
import torch

from convcnp.core.task import Task
from convcnp.errors import SettingError
from convcnp.models.dictionary import regions
from convcnp.models.dictionary.evidence import Prior
from convcnp.models.dictionary.plane import PlaneDictionary
from convcnp.models.dictionary.stretched import PlaneCatalogue, metric

AT = np.random.default_rng(9).uniform(-1, 9, (17, 2))


@pytest.fixture(scope="module")
def model():
    return PlaneDictionary()


def field(n: int = 40, seed: int = 0, positive: bool = False) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    # On a fine lattice, so that shifts are exact and only the model could tell.
    x = np.round(random.uniform(0, 8, (n, 2)) * 1024) / 1024
    y = np.sin(x[:, 0]) + np.cos(x[:, 1] / 2) + 0.1 * random.standard_normal(n)
    return x, np.exp(y) if positive else y


def assert_same(one, other, tolerance: float = 1e-9) -> None:
    for moment in ("mean", "stddev"):
        torch.testing.assert_close(
            getattr(one, moment), getattr(other, moment), atol=tolerance, rtol=tolerance
        )


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("n", [3, 40, 90])
def test_a_shift_changes_nothing(model, n, positive):
    x, y = field(n, positive=positive)
    at, by = np.round(AT * 1024) / 1024, np.array([2.0**30, -(2.0**20)])
    one = model(Task.from_arrays(x, y, at))
    assert_same(model(Task.from_arrays(x + by, y, at + by)), one)


def test_the_order_of_the_points_changes_nothing(model):
    x, y = field(positive=True)
    order = np.random.default_rng(1).permutation(len(x))
    assert_same(model(Task.from_arrays(x[order], y[order], AT)), model(Task.from_arrays(x, y, AT)))


def test_an_added_target_changes_no_other(model):
    x, y = field()
    one = model(Task.from_arrays(x, y, AT)).mean
    more = model(Task.from_arrays(x, y, np.concatenate([[[1e4, -1e3]], AT]))).mean
    torch.testing.assert_close(more[:, 1:], one, atol=1e-9, rtol=0)


def test_other_tasks_in_the_batch_change_nothing(model):
    tasks = [Task.from_arrays(*field(n, n), AT[:7]) for n in (4, 40, 23)]
    both = model(Task.stack(tasks))
    for i, task in enumerate(tasks):
        alone = model(task)
        torch.testing.assert_close(both.mean[[i]], alone.mean, atol=1e-9, rtol=0)
        torch.testing.assert_close(both.stddev[[i]], alone.stddev, atol=1e-9, rtol=0)


@pytest.mark.parametrize("unit", [1e-6, np.array([1.0, 1000.0])])
def test_units_of_the_inputs_change_nothing_much(model, unit):
    x, y = field()
    one, other = model(Task.from_arrays(x, y, AT)), model(Task.from_arrays(x * unit, y, AT * unit))
    # An input in a unit of its own gets its own: nearly the common one, since both spread alike.
    tolerance = 1e-6 if np.ndim(unit) == 0 else 0.1
    assert (other.mean - one.mean).abs().mean() < tolerance


def test_one_entry_is_an_exact_gaussian_process():
    x, y = field()
    length, noise, stretch = 3.0, 0.02, 2.0
    catalogue = PlaneCatalogue(
        smooth=(length,), smoother=(), rough=(), roughest=(), slow=(), noises=(noise,)
    )
    prior = Prior(trends=(0.5,), shares=(1.0,))
    model = PlaneDictionary(catalogue=catalogue, prior=prior)
    # The entries of one metric: this one is stretched along the diagonal.
    angles = model.entries.bases.metrics
    wanted = metric(2, stretch, np.pi / 4)
    (number,) = [i for i, each in enumerate(angles) if torch.allclose(each, wanted)]
    model.entries = model.entries[torch.tensor([number])]
    fitted = model.fit(torch.from_numpy(x), torch.from_numpy(y))
    mean, scale = fitted.predict(fitted.points.places(torch.from_numpy(AT)))

    points = fitted.points
    seen, asked = points.x.numpy(), points.places(torch.from_numpy(AT)).numpy()
    turned = np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2) * [stretch**-0.5, stretch**0.5]
    middle = (seen.max(0) + seen.min(0)) / 2
    half = np.ptp(seen, 0) / 2

    def covariance(a, b):
        apart = ((a[:, None] - b) @ turned / length) ** 2
        lines = ((a - middle) / half) @ ((b - middle) / half).T
        # A flat constant is one of a very large variance.
        return np.exp(-0.5 * apart.sum(-1)) + 0.5**2 * lines + 1e6

    order = np.lexsort(x.T[::-1])
    z = (y[order] - y.mean()) / y.std(ddof=1)
    gram = covariance(seen, seen) + noise * np.eye(len(seen))
    across = covariance(asked, seen)
    expected = across @ np.linalg.solve(gram, z)
    np.testing.assert_allclose(mean[0], expected, atol=1e-5)
    left = 1e6 + 1 + 0.25 * (((asked - middle) / half) ** 2).sum(1) + noise
    variance = left - (across * np.linalg.solve(gram, across.T).T).sum(1)
    squares = z @ np.linalg.solve(gram, z)
    posterior = (2 * prior.rate + squares) / (2 * prior.freedom + len(z) - 1)
    np.testing.assert_allclose(scale[0] ** 2, variance * posterior, rtol=1e-4)


def test_positive_values_stay_positive(model):
    x, y = field(60, positive=True)
    predictive = model(Task.from_arrays(x, np.exp(y), AT))
    assert predictive.quantile(0.01).min() > -0.1 * np.exp(y).std()


def test_repeated_places_are_averaged_and_tell_of_noise(model):
    x, y = field(30)
    twice = Task.from_arrays(np.repeat(x, 2, 0), np.stack([y + 0.5, y - 0.5], 1).ravel(), x)
    predictive = model(twice)
    assert (predictive.mean[0, :, 0] - torch.from_numpy(y)).abs().mean() < 0.3
    assert 0.4 < predictive.stddev.mean() < 1.0


@pytest.mark.parametrize(
    "x, y",
    [
        ([[0.0, 0.0]], [3.0]),
        ([[0.0, 0.0], [1.0, 1.0]], [3.0, 4.0]),
        ([[0.0, 0.0], [0.0, 0.0]], [3.0, 4.0]),
        ([[i, 0.0] for i in range(9)], list(range(9))),  # all on a line
        ([[i % 3, i // 3] for i in range(9)], [5.0] * 9),
    ],
)
def test_little_data_gives_numbers(model, x, y):
    predictive = model(Task.from_arrays(np.array(x, dtype=float), np.array(y, dtype=float), AT))
    assert predictive.mean.isfinite().all()
    assert (predictive.stddev > 0).all()


def test_known_errors_widen_what_is_believed_of_a_point(model):
    x, y = field(30)
    errors = np.full(30, 1e-4)
    errors[0], shifted = 4.0, y.copy()
    shifted[0] += 3
    at = torch.from_numpy(x[:1])
    means = []
    for variance in (None, torch.from_numpy(errors)):
        fitted = model.fit(torch.from_numpy(x), torch.from_numpy(shifted), variance)
        means.append(float((fitted.students(at).location * fitted.weighed.weight[:, None]).sum()))
    assert abs(means[1] - y[0]) < abs(means[0] - y[0])


def test_many_points_are_predicted_region_by_region(model, monkeypatch):
    x, y = field(300)
    task = Task.from_arrays(x, y, AT)
    whole = model(task)
    for name, value in {"_CORE": 50, "_MARGIN": 100, "_WHOLE": 150}.items():
        monkeypatch.setattr(regions, name, value)
    cut = model(task)
    assert not torch.equal(cut.mean, whole.mean)
    inside = torch.from_numpy(((AT > 0) & (AT < 8)).all(1))
    apart = ((cut.mean - whole.mean) / whole.stddev)[0, inside, 0].abs()
    assert apart.mean() < 0.2


def test_other_dimensions_are_refused():
    with pytest.raises(SettingError, match="takes two inputs"):
        PlaneDictionary(dim_x=1)


def test_an_observation_weighs_by_its_known_error(model):
    x, y = field(60)
    middle = int(((x - 4) ** 2).sum(1).argmin())
    wrong = np.where(np.arange(60) == middle, 40.0, y)
    at, truth = x[[middle]], float(y[middle])

    def predicted(error):
        return model(Task.from_arrays(x, wrong, at, context_error=error))

    vague = np.where(np.arange(60) == middle, 100.0, 0.05)
    assert abs(predicted(vague).mean.item() - truth) < 0.3
    exact = predicted(np.zeros(60))
    assert abs(exact.mean.item() - truth) > 3
    assert_same(exact, model(Task.from_arrays(x, wrong, at)))


def test_predictions_are_of_the_values_behind_measurements(model):
    random = np.random.default_rng(3)
    x, y = field(120, seed=3)
    noisy = y + random.standard_normal(120)
    error = np.ones(120)
    task = Task.from_arrays(x, noisy, AT[:5], context_error=error, target_error=np.ones(5))
    behind = model(Task.from_arrays(x, noisy, AT[:5], context_error=error))
    assert (behind.stddev < 0.9).all()
    torch.testing.assert_close(model(task).variance, behind.variance + 1, rtol=0.02, atol=0.02)


def test_surfaces_are_drawn_of_every_channel_and_without_observations():
    random = np.random.default_rng(0)
    x = random.uniform(0, 4, (30, 2))
    y = np.stack([np.sin(x[:, 0]) + random.normal(0, 0.3, 30), np.full(30, np.nan)], 1)
    task = Task.from_arrays(x, y, [[2.0, 2.0], [2.0, 2.01]])
    model = PlaneDictionary(dim_y=2)
    assert model.draws_surfaces
    drawn = model.draw(task, 200, torch.Generator().manual_seed(0))
    assert drawn.shape == (200, 2, 2)
    spread = model(task).stddev[0]
    torch.testing.assert_close(drawn.std(0) / spread, torch.ones(2, 2).double(), atol=0.3, rtol=0)
    assert torch.corrcoef(drawn[..., 0].T)[0, 1] > 0.9
