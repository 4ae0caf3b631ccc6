"""A short share of `make fuzz`: hostile inputs end in an answer or a sentence."""

import sys
from pathlib import Path

import pytest
from tools import fuzz

SHARE = 48  # cases, a quarter of each kind


@pytest.mark.parametrize("first", range(0, SHARE, 8))
def test_hostile_inputs_end_in_an_answer_or_a_sentence(first):
    complaints = [fuzz.try_case(seed=1, number=first + i) for i in range(8)]
    assert complaints == [None] * 8


@pytest.mark.parametrize(
    "end, complaint",
    [
        (lambda: 1 / 0, "ZeroDivisionError"),
        (lambda: sys.exit(1), "exit code 1"),
        (lambda: sys.exit(2), "no sentence"),
        (lambda: sys.stdout.write("t,v_mean\n0,inf"), "infinite numbers"),
        (lambda: sys.stderr.write("a" * 30_000), "said 30,000 characters"),
    ],
)
def test_a_wrong_end_is_found(end, complaint, monkeypatch):
    monkeypatch.setattr("convcnp.cli.main", end)
    assert complaint in fuzz.try_case(seed=1, number=0)


def test_files_left_by_a_command_that_failed_are_found(monkeypatch, tmp_path):
    def leave():
        Path("rest").touch()
        sys.stderr.write("Error")
        sys.exit(2)

    monkeypatch.setattr("convcnp.cli.main", leave)
    assert "left ['rest'] and failed" in fuzz.try_case(seed=1, number=0)


def test_a_number_makes_the_same_case_again(tmp_path):
    import random

    made = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        arguments = fuzz.table_case(tmp_path / name, random.Random("0/4"))
        made.append((arguments, (tmp_path / name / "table.csv").read_bytes()))
    assert made[0] == made[1]
