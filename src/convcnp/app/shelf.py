"""What open pages have uploaded: in memory, and gone when the page is."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, TypeVar

from convcnp.app.limits import Limits
from convcnp.app.refusals import BusyError, GoneError

T = TypeVar("T")


@dataclass
class Page:
    """An open page, and what is kept for it: the newest few of each kind."""

    most: int
    things: dict[type, OrderedDict[str, Any]] = field(default_factory=dict)

    def keep(self, thing: object) -> str:
        """Keep an object under a new name; the oldest of its kind makes room."""
        kept = self.things.setdefault(type(thing), OrderedDict())
        name = secrets.token_urlsafe(9)
        kept[name] = thing
        while len(kept) > self.most:
            kept.popitem(last=False)
        return name

    def find(self, kind: type[T], name: str) -> T:
        """Return what was kept under a name."""
        found = self.things.get(kind, OrderedDict()).get(name)
        if not isinstance(found, kind):
            raise GoneError(
                f"Expected the name of an upload, got {name!r}, which is not kept any more; give "
                "the file again."
            )
        return found


class Shelf:
    """The open pages by name.

    Example:
        >>> shelf = Shelf(Limits())
        >>> name = shelf.open()
        >>> shelf.page(name).keep("a thing") in shelf.page(name).things[str]
        True
        >>> shelf.close(name)
        >>> len(shelf)
        0
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._pages: dict[str, Page] = {}

    def __len__(self) -> int:
        return len(self._pages)

    def open(self) -> str:
        """Make room for a page, and name it."""
        if len(self._pages) >= self._limits.pages:
            raise BusyError(
                f"Expected at most {self._limits.pages} open pages, got one more; close another."
            )
        name = secrets.token_urlsafe(18)
        self._pages[name] = Page(self._limits.kept)
        return name

    def close(self, name: str) -> None:
        """Forget a page and all that was kept for it."""
        self._pages.pop(name, None)

    def page(self, name: str) -> Page:
        """Return an open page."""
        if name not in self._pages:
            raise GoneError("Expected an open page, but it is not known here; load it again.")
        return self._pages[name]
