"""The load run counts what it asks, and hears of errors."""

from benchmarks.load import MODEL, PLACES, asked, question, under_load
from tests.app.serving_here import running


def test_every_client_asks_its_share_and_failures_are_counted(capsys):
    with running() as visitor:
        times, failed = under_load(visitor.host, visitor.cookie, requests=7, clients=3)
        assert (len(times), failed) == (7, 0)
        times, failed = under_load(visitor.host, "", requests=7, clients=3)
        assert (len(times), failed) == (0, 3)
        assert "401" in capsys.readouterr().out
        answer = visitor.post("/api/playground", question(1)).json
        assert [band["name"] for band in answer["bands"]] == [MODEL]
        assert len(answer["x"]) == PLACES
        assert len(asked(visitor.host, visitor.cookie, range(2))) == 2
