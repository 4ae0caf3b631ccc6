import pytest

from convcnp.app.examples import EXAMPLES, example


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_a_table_with_series(visitor, name):
    table = visitor.post(f"/api/examples/{name}").json
    assert table["name"] == f"{name}.csv"
    answer = visitor.post(
        "/api/series/understanding", {"table": table["table"], "model": "general-convcnp"}
    )
    assert answer.status == 200
    assert example(name) == example(name)


def test_gaps_of_examples(visitor):
    table = visitor.post("/api/examples/lynx-and-hare").json["table"]
    question = {"table": table, "model": "lotka-volterra-broad-convcnp"}
    found = visitor.post("/api/series/understanding", question).json
    assert [(gap["text"], gap["missing"]) for gap in found["gaps"]] == [("1881 to 1898", 18)]
    assert visitor.post("/api/series/curve", question).status == 200


def test_an_unknown_example_is_a_sentence(visitor):
    answer = visitor.post("/api/examples/tides")
    assert answer.status == 404
    assert "did you mean 'tide'" in answer.sentence
