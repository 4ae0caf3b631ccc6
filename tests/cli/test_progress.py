"""Progress: bars on a terminal; elsewhere lines for a run, or nothing."""

import io

import pytest
from rich.console import Console

from convcnp.cli.progress import ProgressReporter, bar, both, downloads_shown
from convcnp.data.files import download_bar, unseen
from convcnp.training.checkpoint import Progress


def console(is_terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=is_terminal, width=120)


@pytest.mark.parametrize(
    ("is_terminal", "total", "is_shown"),
    [(True, 100, True), (True, 99, False), (False, 100, False)],
)
def test_a_bar_is_for_terminals_and_for_much_work(is_terminal, total, is_shown):
    out = console(is_terminal)
    with bar("Predicting", at_least=100, console=out) as progress:
        progress(total // 2, total)
    assert ("Predicting" in out.file.getvalue()) == is_shown
    assert ("50%" in out.file.getvalue()) == is_shown


def test_a_run_says_a_line_at_every_validation():
    out = console(is_terminal=False)
    with ProgressReporter("[eq]", steps=10, console=out) as report:
        report(Progress(step=4, seconds=2.0, losses=[1.0]), {})
        report(Progress(step=5, seconds=2.5), {"loss": 0.5, "log_likelihood": 0.25})
    assert out.file.getvalue() == (
        "[eq]: step 5 of 10, loss 0.500, log-likelihood 0.250, 2 s left\n"
    )


def test_a_run_on_a_terminal_is_a_bar_that_stays():
    out = console(is_terminal=True)
    with ProgressReporter("eq", steps=10, console=out) as report:
        report(Progress(step=4, losses=[1.0, 2.0]), {})
        report(Progress(step=10), {"loss": 0.5, "log_likelihood": 0.25})
    shown = out.file.getvalue()
    assert "nan" not in shown
    assert "loss 1.500" in shown or "loss 0.500" in shown
    assert "10/10" in shown
    assert "log-likelihood 0.250" in shown


def test_two_may_listen():
    heard = []
    report = both(
        lambda *said: heard.append(("a", *said)), lambda *said: heard.append(("b", *said))
    )
    report(Progress(), {})
    assert heard == [("a", Progress(), {}), ("b", Progress(), {})]


def test_downloads_are_shown_by_the_same_bar_while_a_command_runs():
    assert download_bar.get() is unseen
    with downloads_shown():
        assert download_bar.get() is bar
    assert download_bar.get() is unseen
