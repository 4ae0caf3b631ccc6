"""Modules that are imported when they are needed."""

import sys
from types import ModuleType

import pytest

from convcnp.errors import ConvCNPError, MissingExtraError
from convcnp.extras import import_extra, imported_when_used, missing_extra
from helpers import ROOT


def test_an_extra_that_is_there_is_imported():
    assert import_extra("json.decoder", "plot") is sys.modules["json.decoder"]


def test_an_extra_that_is_not_there_is_named_with_the_way_to_get_it():
    with pytest.raises(
        MissingExtraError, match=r"This needs nowhere, .*pip install .*\[plot\]'"
    ) as found:
        import_extra("nowhere.inside", "plot")
    assert isinstance(found.value, ConvCNPError)
    assert isinstance(found.value, ImportError)


def test_the_way_to_get_an_extra_works_from_a_checkout_and_without_one(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert missing_extra("openpyxl", "excel").endswith(f"pip install -e '{ROOT}[excel]'.")
    monkeypatch.chdir(ROOT)
    assert missing_extra("openpyxl", "excel").endswith("pip install -e '.[excel]'.")
    monkeypatch.setattr("convcnp.extras.__file__", str(tmp_path / "lib/convcnp/extras.py"))
    assert missing_extra("openpyxl", "excel").endswith("pip install 'convcnp[excel]'.")


@pytest.fixture
def house(monkeypatch):
    """Return a package with one room, which cannot be imported but by the package's import."""
    package, room = ModuleType("house"), ModuleType("house.room")
    room.lamp = object()
    package.here = 1
    monkeypatch.setitem(sys.modules, "house", package)
    monkeypatch.setitem(sys.modules, "house.room", room)
    return package


def test_a_name_is_imported_when_it_is_first_used(house):
    get, _ = imported_when_used("house", {"lamp": "room", "window": "wall"})
    assert not hasattr(house, "lamp")
    assert get("lamp") is sys.modules["house.room"].lamp
    assert house.lamp is get("lamp")
    with pytest.raises(ModuleNotFoundError):  # only now is its module looked for
        get("window")


def test_a_name_that_is_not_offered_is_refused_as_by_any_module(house):
    get, _ = imported_when_used("house", {"lamp": "room"})
    with pytest.raises(AttributeError, match="module 'house' has no attribute 'lmap'"):
        get("lmap")


def test_names_are_listed_before_they_are_imported(house):
    _, names = imported_when_used("house", {"lamp": "room"})
    assert {"here", "lamp"} <= set(names())
