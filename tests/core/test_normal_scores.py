import pytest
import torch

from convcnp.core.normal_scores import EXACTLY, root


def test_a_root_is_found_where_straight_lines_would_creep():
    """A step that is almost flat on both sides: halving keeps the search short."""
    aims = torch.tensor([-0.9, 0.0, 0.5, 0.999], dtype=torch.float64)
    centre = torch.tensor([-3.0, 0.01, 700.0, 5.0], dtype=torch.float64)
    calls = []

    def step(x):
        calls.append(1)
        return torch.tanh(50 * (x - centre))

    found = root(step, torch.full_like(aims, -1e4), torch.full_like(aims, 1e4), aims)
    assert torch.allclose(found, centre + torch.atanh(aims) / 50, atol=1e-9)
    assert len(calls) < 100


def test_ends_that_are_the_root_are_returned():
    low, high = torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    assert root(lambda x: x, low, high, torch.tensor([0.0, 1.0], dtype=torch.float64)).tolist() == [
        0.0,
        1.0,
    ]


@pytest.mark.parametrize("tolerance", [0.05, EXACTLY])
def test_a_root_does_not_depend_on_the_others(tolerance):
    aims = torch.linspace(-2, 2, 9, dtype=torch.float64)
    slopes = torch.logspace(-3, 3, 9, dtype=torch.float64)

    def found(chosen):
        def function(x):
            return torch.asinh(slopes[chosen] * x) + x.clamp(min=0)

        ends = torch.full_like(aims[chosen], 1e4)
        return root(function, -ends, ends, aims[chosen], tolerance)

    together = found(slice(None))
    alone = torch.cat([found(slice(i, i + 1)) for i in range(len(aims))])
    assert torch.equal(together, alone)
    values = torch.asinh(slopes * together) + together.clamp(min=0)
    assert ((values - aims).abs() < tolerance).all()
