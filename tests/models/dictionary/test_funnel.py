import torch

from convcnp.models.dictionary.funnel import best, chosen
from convcnp.models.dictionary.series import prepared


def test_every_family_keeps_a_quarter_of_the_places():
    score = torch.arange(60).double()
    family = torch.arange(60) // 20
    kept = best(score, family, 8)
    assert (family[kept] == torch.tensor([[0], [1], [2]])).sum(1).tolist() == [2, 2, 4]
    assert 59 in kept and 19 in kept and 18 in kept


def test_variants_that_do_not_matter_are_left_out():
    score = torch.tensor([[[0.0, -30.0], [-20.0, -25.0]], [[-0.5, -0.75], [-1.0, -40.0]]]).double()
    found = chosen(score)
    assert found.variants.entry.tolist() == [0, 1, 1, 1]
    assert found.variants.form.tolist() == [0, 0, 0, 1]
    assert found.variants.trend.tolist() == [0, 0, 1, 0]
    torch.testing.assert_close(found.weight.sum(), torch.tensor(1.0).double())


def test_stretches_are_central_and_of_long_series_several():
    x = torch.arange(5000).double()
    short, long = prepared(x[:200], x[:200].sin()), prepared(x, x.sin())
    (middle,) = short.stretches(48)
    assert (middle.x[0], middle.x[-1]) == (76, 123)
    assert [part.num_points for part in long.stretches(48)] == [48] * 4
