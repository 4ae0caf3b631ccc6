import io
import shlex
import time

import numpy as np
import pandas as pd
import pytest

from convcnp.app.questions import SeriesQuestion, ViewQuestion
from convcnp.app.series import Upload, as_python, understand
from convcnp.predict.answers import rounded
from convcnp.predict.zoo import load
from helpers import ROOT, invoke

FAST = "general-convcnp"
CO2 = ROOT / "examples/co2.csv"


@pytest.fixture
def co2(visitor):
    return visitor.post("/api/tables?name=co2.csv", CO2.read_bytes()).json["table"]


@pytest.fixture
def stations(visitor):
    return visitor.post("/api/examples/stations").json["table"]


def understood(visitor, table, **question):
    answer = visitor.post("/api/series/understanding", {"table": table, "model": FAST, **question})
    assert answer.status == 200, answer.content
    return answer.json


def curve(visitor, table, **question):
    answer = visitor.post("/api/series/curve", {"table": table, "model": FAST, **question})
    assert answer.status == 200, answer.content
    return answer.json


def test_a_table_is_understood_as_by_the_command(visitor, co2):
    found = understood(visitor, co2)
    result = invoke("predict", CO2, "--model", FAST)
    assert found["description"] in result.stderr.replace("\n", " ")
    assert (found["time"], found["values"], found["group"]) == ("date", ["co2"], None)
    assert found["axis"] == "date"
    frame = pd.read_csv(CO2, parse_dates=["date"])
    assert found["span"] == [frame["date"].iloc[i].timestamp() for i in (0, -1)]
    assert found["observed"]["x"][1] - found["observed"]["x"][0] == 7 * 86400
    values = np.array(found["observed"]["values"]["co2"], dtype=float)
    np.testing.assert_array_equal(values, frame["co2"])


def test_gaps_are_listed_the_longest_first_with_values_around(visitor, co2):
    gaps = understood(visitor, co2)["gaps"]
    missing = [gap["missing"] for gap in gaps]
    assert missing == sorted(missing, reverse=True)
    frame = pd.read_csv(CO2, parse_dates=["date"])
    seen = frame.dropna()["date"]
    for gap in gaps:
        start, end = (pd.Timestamp(gap[edge], unit="s") for edge in ("start", "end"))
        assert {start, end} <= set(seen)
        assert not seen.between(start, end, inclusive="neither").any()


def test_many_gaps_take_no_longer_than_reading_them():
    """Guard against work for every gap: there are 300,000, which took half a minute."""
    values = np.arange(600_000.0)
    values[1::2] = np.nan
    values[[400, 401, 402, -2]] = np.nan
    frame = pd.DataFrame({"t": np.arange(len(values)), "v": values})
    upload = Upload("many.csv", frame)
    before = time.process_time()
    gaps = understand(upload, ViewQuestion(table="x", model=FAST), load(FAST)).gaps
    assert time.process_time() - before < 8
    assert len(gaps) == 500
    assert [gap.missing for gap in gaps[:3]] == [5, 3, 1]
    assert (gaps[0].start, gaps[0].end, gaps[0].text) == (398, 404, "399 to 403")
    assert gaps[1].text == "599997 to 599999"  # nothing is seen behind it
    assert [gap.text for gap in gaps[2:5]] == ["1", "3", "5"]


def test_a_table_without_gaps_has_none(visitor):
    table = visitor.post("/api/tables", b"t,v\n" + b"".join(b"%d,%d\n" % (i, i) for i in range(9)))
    found = understood(visitor, table.json["table"])
    assert found["gaps"] == []
    assert "as there is no gap" in found["description"]


def test_the_answer_is_the_commands(visitor, co2, tmp_path, monkeypatch):
    question = {"model": FAST, "values": ["co2"], "time": "date", "ahead": 5}
    csv = visitor.post("/api/series/answer.csv", {"table": co2, **question})
    command = shlex.split(understood(visitor, co2, **question)["command"])
    assert command[:3] == ["convcnp", "predict", "co2.csv"]
    monkeypatch.chdir(CO2.parent)
    result = invoke(*command[1:], "--out", tmp_path / "answer.csv")
    assert result.exit_code == 0, result.stderr
    assert csv.content == (tmp_path / "answer.csv").read_bytes()


def test_the_python_lines_answer_the_same(visitor, co2, monkeypatch):
    question = {"model": FAST, "ahead": 5, "samples": 1, "seed": 3}
    monkeypatch.chdir(CO2.parent)
    names: dict = {}
    exec(understood(visitor, co2, **question)["python"], names)
    csv = visitor.post("/api/series/answer.csv", {"table": co2, **question}).content
    written = pd.read_csv(io.BytesIO(csv), parse_dates=["date"])
    pd.testing.assert_frame_equal(rounded(names["answer"], ["co2"]), written, rtol=1e-12)


def test_names_are_quoted():
    question = SeriesQuestion(table="x", time="it's", values=["a b"])
    assert 'time="it\'s"' in as_python("my file.csv", question)


def test_a_curve_shows_what_the_predictor_predicts(visitor, co2):
    found = curve(visitor, co2, places=7)
    frame = pd.read_csv(CO2, parse_dates=["date"])
    times = pd.to_datetime(np.array(found["x"]), unit="s")
    expected = load(FAST).predict(frame, at=times, quantiles=[0.05, 0.25, 0.75, 0.95])
    (band,) = found["bands"]
    for part in ("mean", "q05", "q25", "q75", "q95"):
        np.testing.assert_allclose(band[part], expected[f"co2_{part}"], rtol=1e-6)


def test_a_part_of_the_chart_is_asked_for_and_what_lies_ahead(visitor, co2):
    low, high = understood(visitor, co2)["span"]
    part = curve(visitor, co2, low=low + 1e6, high=low + 2e6, places=3)
    assert part["x"] == pytest.approx([low + 1e6, low + 1.5e6, low + 2e6])
    ahead = curve(visitor, co2, ahead=4, places=3)
    assert ahead["x"][-1] == pytest.approx(high + 4 * 7 * 86400)


def test_several_groups_and_columns(visitor, stations):
    found = understood(visitor, stations)
    assert (found["group"], found["labels"]) == ("station", ["north", "harbour", "hill"])
    assert found["values"] == ["temperature", "humidity"]
    first, last = (curve(visitor, stations, series=i, places=5) for i in (0, 2))
    assert [band["name"] for band in first["bands"]] == found["values"]
    assert first["bands"][0]["mean"] != last["bands"][0]["mean"]
    answer = visitor.post("/api/series/curve", {"table": stations, "model": FAST, "series": 3})
    assert answer.status == 422
    assert "one of the 3 series" in answer.sentence


def test_curves_are_drawn_on_request(visitor, stations):
    found = curve(visitor, stations, places=5, samples=2, values=["humidity"])
    (band,) = found["bands"]
    assert len(band["samples"]) == 2 and len(band["samples"][0]) == 5


def test_warnings_of_the_model_come_with_the_curve(visitor, co2):
    found = curve(visitor, co2, model="eq-convcnp", places=3)
    assert any(
        "farther from every observation" in text or "trained on" in text
        for text in found["warnings"]
    )


def test_numbers_that_are_none_are_null(visitor):
    table = visitor.post("/api/tables", b"g,t,v\na,1,1\na,2,2\nb,1,\nb,2,\n").json["table"]
    found = curve(visitor, table, group="g", series=1, places=2)
    assert found["bands"][0]["mean"] == [None, None]
    assert any("no observed value" in text for text in found["warnings"])


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ({"model": "../../etc/passwd"}, "name of a shipped model"),
        ({"model": "mnist-convcnp-long"}, "takes no tables"),
        ({"model": "lotka-volterra-convcnp"}, "trained for 2 value columns"),
        ({"time": "dat"}, "did you mean 'date'"),
        ({"values": ["date"], "time": "date"}, "more than once"),
        ({"group": "x"}, "Expected a column 'x'"),
        ({"places": 1}, "places"),
        ({"samples": 21}, "samples"),
        ({"ahead": 10**9}, "ahead"),
        ({"low": "NaN"}, "low"),
        ({"at": "/etc/passwd"}, "at"),
    ],
)
def test_a_wrong_question_is_a_sentence(visitor, co2, question, sentence):
    answer = visitor.post("/api/series/curve", {"table": co2, **question})
    assert answer.status == 422
    assert sentence in answer.sentence


def test_the_picture_is_a_png(visitor, stations):
    answer = visitor.post("/api/series/picture.png", {"table": stations, "model": FAST})
    assert answer.headers["content-type"] == "image/png"
    from PIL import Image

    assert Image.open(io.BytesIO(answer.content)).width == 1350


def test_numbers_and_durations_as_times(visitor):
    rows = b"".join(b"0 days 00:%02d:00,%d\n" % (i, i % 5) for i in range(20))
    table = visitor.post("/api/tables", b"time,v\n" + rows).json["table"]
    assert understood(visitor, table)["axis"] == "duration"
    big = b"".join(b"%d,%d\n" % (2**60 + i, i % 5) for i in range(20))
    table = visitor.post("/api/tables", b"time,v\n" + big).json["table"]
    assert understood(visitor, table)["span"] == [2.0**60, 2.0**60 + 19]
    assert len(curve(visitor, table, places=4)["bands"][0]["mean"]) == 4
