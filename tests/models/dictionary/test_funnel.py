import math

import torch

from convcnp.models.dictionary.bordered import Frame
from convcnp.models.dictionary.catalogue import Catalogue, assembled, entries_for
from convcnp.models.dictionary.evidence import Prior, factored
from convcnp.models.dictionary.funnel import Funnel, best, chosen, evidence_on, may_count
from convcnp.models.dictionary.kernels import EQ
from convcnp.models.dictionary.series import prepared


def test_every_family_keeps_a_quarter_of_the_places():
    score = torch.arange(60).double()
    family = torch.arange(60) // 20
    kept = best(score, family, 8)
    assert (family[kept] == torch.tensor([[0], [1], [2]])).sum(1).tolist() == [2, 2, 4]
    assert 59 in kept and 19 in kept and 18 in kept


def test_of_many_families_none_is_crowded_out():
    """Two seasons at once are the fifth family where three periods were found."""
    score = torch.arange(50, 0, -1).double()
    family = torch.arange(50) // 10
    for kept in (48, 6):
        assert set(family[best(score, family, kept)].tolist()) == {0, 1, 2, 3, 4}


def test_what_cannot_count_is_not_looked_at_again():
    score = torch.tensor([0.0, -29.0, -100.0, -100.0, -torch.inf]).double()
    noise = torch.tensor([0.1, 0.1, 0.1, 1e-5, 0.1]).double()
    # The fourth one's noise is no more than the jitter: without it, much may change.
    assert may_count(score, noise, 300).tolist() == [0, 1, 3, 4]
    assert may_count(score, noise, 3).tolist() == [0, 1, 4]


def test_the_bound_of_what_a_jitter_changes_holds():
    x = torch.arange(60).double()
    series = prepared(x, torch.sin(x / 3) + 0.1 * torch.cos(7 * x))
    entries = entries_for(Catalogue(), [], 60)
    frame, prior = Frame.of(series), Prior()
    exact = factored(entries, series, frame, prior).summary.log_evidence(prior).amax((1, 2))
    away = evidence_on([series], frame, prior)(entries) - exact
    assert (away.abs() <= 30 * torch.log1p(1e-5 / entries.noise) + 0.1).all()
    assert away.abs().max() > 1


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


def test_runs_reach_as_far_as_windows_see():
    x = torch.arange(5000).double()
    short, long = prepared(x[:900], x[:900].sin()), prepared(x, x.sin())
    runs, far = short.spread(300)
    assert far.num_points == 300
    assert (runs.num_points, runs.x[-1] - runs.x[0]) == (300, 899)
    assert (runs.x.diff() == 1).sum() == 297
    parts = long.spread(300)
    assert [part.num_points for part in parts] == [300] * 5
    assert [int(part.x[-1] - part.x[0]) for part in parts[:4]] == [299, 575, 299, 575]
    assert parts[4].x[-1] - parts[4].x[0] > 4900
    assert short.spread(900)[0] is short


def test_varied_entries_explain_more_than_those_of_a_catalogue():
    """The only entry is not as it should be: length 5.7 and noise 0.02."""
    generator = torch.Generator().manual_seed(0)
    x = torch.arange(120).double()
    covariance = torch.exp(-0.5 * ((x[:, None] - x) / 5.7) ** 2) + 0.02 * torch.eye(120).double()
    white = torch.randn(120, generator=generator, dtype=torch.float64)
    series = prepared(x, torch.linalg.cholesky(covariance) @ white)
    only = assembled([({(EQ, 3.0, math.inf, 0.0): 1.0}, (0.1,))], [0.0], [0])
    frame, prior = Frame.of(series), Prior()

    def evidence(rounds: int) -> float:
        entries = Funnel(rounds=rounds)(only, series, frame, prior, series.sampling)
        return evidence_on([series], frame, prior)(entries).max().item()

    assert evidence(2) > evidence(1) + 1 > evidence(0) + 2
