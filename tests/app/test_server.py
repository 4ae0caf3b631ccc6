import pytest

ENDPOINTS = {
    "/api/series/understanding": {"table": "x"},
    "/api/series/curve": {"table": "x"},
    "/api/series/answer.csv": {"table": "x"},
    "/api/series/picture.png": {"table": "x"},
    "/api/playground": {"points": [], "low": 0, "high": 1},
    "/api/playground/function": {"kind": "eq", "seed": 1},
    "/api/complete": {"picture": "x"},
}


@pytest.mark.parametrize("path", ENDPOINTS)
@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"null", b"[]", b"\xff\xfe", b'{"unknown": 1}', b'{"table": ' + 400 * b"["],
    ids=lambda body: repr(body[:12]),
)
def test_a_bad_body_is_a_sentence(visitor, path, body):
    answer = visitor.post(path, body, content_type="application/json")
    assert answer.status == 422
    assert answer.sentence


def test_models(visitor):
    assert len(visitor.get("/api/models").json) > 30


def test_every_endpoint_is_described(visitor):
    described = visitor.get("/openapi.json").json
    posts = {path for path, methods in described["paths"].items() if "post" in methods}
    assert posts == {*ENDPOINTS, "/api/tables", "/api/pictures", "/api/examples/{name}"}
    for methods in described["paths"].values():
        for method in methods.values():
            assert method["description"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/../server.py", 404),
        ("GET", "/api/nothing", 404),
        ("GET", "/api/tables", 404),
        ("PUT", "/", 405),
    ],
)
def test_an_unknown_path_is_a_sentence(visitor, method, path, status):
    answer = visitor.ask(method, path)
    assert answer.status == status
    assert "api.html" in answer.sentence


def test_a_mistake_of_ours_is_a_sentence_and_the_server_lives_on(visitor, monkeypatch):
    def broken(question, models):
        raise KeyError("secret detail")

    monkeypatch.setattr("convcnp.app.playground.play", broken)
    answer = visitor.post("/api/playground", ENDPOINTS["/api/playground"])
    assert answer.status == 500
    assert "please report it" in answer.sentence and "secret" not in answer.sentence
    monkeypatch.undo()
    assert visitor.post("/api/playground", ENDPOINTS["/api/playground"]).status == 200


def test_a_slow_table_keeps_nobody_else_waiting(visitor, monkeypatch):
    import threading

    from convcnp.app import series

    started, go = threading.Event(), threading.Event()

    def slow(*arguments):
        started.set()
        go.wait(30)
        return b"png"

    table = visitor.post("/api/tables", b"t,v\n1,2\n2,3\n3,4\n").json["table"]
    monkeypatch.setattr(series, "picture", slow)
    asked = threading.Thread(
        target=visitor.post, args=["/api/series/picture.png", {"table": table}]
    )
    asked.start()
    assert started.wait(30)
    assert visitor.post("/api/playground", ENDPOINTS["/api/playground"]).status == 200
    assert visitor.get("/").status == 200
    go.set()
    asked.join(30)
