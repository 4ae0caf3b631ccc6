import time

import pytest
from tests.app.serving_here import Visitor, running

from convcnp.app.limits import Limits
from convcnp.app.refusals import BusyError, GoneError
from convcnp.app.shelf import Shelf


def test_the_oldest_of_a_kind_makes_room():
    shelf = Shelf(Limits(kept=2))
    page = shelf.page(shelf.open())
    names = [page.keep(text) for text in "abc"]
    number = page.keep(7)
    assert [page.find(str, name) for name in names[1:]] == ["b", "c"]
    assert page.find(int, number) == 7
    for kind, name in ((str, names[0]), (str, number), (float, "x")):
        with pytest.raises(GoneError, match="not kept any more"):
            page.find(kind, name)


def test_pages_are_limited():
    shelf = Shelf(Limits(pages=1))
    shelf.open()
    with pytest.raises(BusyError, match="at most 1 open pages"):
        shelf.open()


def test_a_closed_page_leaves_nothing():
    with running() as visitor:
        shelf = visitor.server.desk.shelf
        with visitor.opened():
            assert visitor.post("/api/tables?name=a.csv", b"t,v\n1,2\n2,3\n").status == 200
            assert len(shelf) == 1
        for _ in range(200):
            if not len(shelf):
                break
            time.sleep(0.05)
        assert len(shelf) == 0
        answer = visitor.post("/api/tables?name=a.csv", b"t,v\n1,2\n2,3\n")
        assert answer.status == 404
        assert "load it again" in answer.sentence


def test_pages_do_not_see_each_others_tables(visitor):
    table = visitor.post("/api/tables?name=a.csv", b"t,v\n1,2\n2,3\n3,4\n").json["table"]
    other = Visitor(visitor.server)
    other.cookie = visitor.cookie
    with other.opened():
        answer = other.post("/api/series/curve", {"table": table})
        assert answer.status == 404
        assert "give the file again" in answer.sentence
