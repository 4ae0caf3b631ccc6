"""The command `convcnp complete`."""

import sys

import pytest

from convcnp.cli import main
from helpers import random_array, saved, write_untrained


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Leave a directory as a finished run would, with an untrained model of colour images."""
    directory = tmp_path_factory.mktemp("run")
    write_untrained(directory, "celeba32", {"name": "grid-convcnp"})
    return directory


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["convcnp", "complete", *map(str, arguments)])
    main()


def test_the_command_writes_three_pictures(trained, tmp_path, monkeypatch, capsys):
    photo = saved(tmp_path / "photo.jpg", random_array(20, 30, 3))
    mask = saved(tmp_path / "mask.png", random_array(20, 30) > 250)
    options = ["--mask", mask, "--keep", "50%", "--box", "0,0,5,5"]
    with pytest.raises(SystemExit) as stop:
        run(monkeypatch, photo, *options, "--model", trained, "--out", tmp_path / "out")
    assert stop.value.code == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"photo-completed.png", "photo-stddev.png", "photo-figure.png"}
    output = " ".join(capsys.readouterr().out.split())
    assert "of 30 x 20 pixels" in output
    assert "photo-completed.png" in output


@pytest.mark.parametrize(
    "options, sentence",
    [
        ([], "all of"),
        (["--keep", "lots"], "--keep must be a share"),
        (["--box", "0,0,99,99"], "--box must be left,top,width,height"),
        (["--mask", "nothing.png"], "nothing.png does not exist"),
        (["--keep", "5%", "--model", "nothing"], "Expected the name of a shipped model"),
    ],
)
def test_a_mistake_gets_a_sentence_and_exit_code_2(
    options, sentence, tmp_path, monkeypatch, capsys
):
    photo = saved(tmp_path / "photo.png", random_array(20, 30))
    with pytest.raises(SystemExit) as stop:
        run(monkeypatch, photo, *options)
    assert stop.value.code == 2
    assert sentence in " ".join(capsys.readouterr().err.split())
