import re

import pytest
from tests.app.serving_here import Visitor

from convcnp.app.security import Keys, is_loopback, own_names


def test_a_token_lets_in_once(visitor):
    other = Visitor(visitor.server)
    path = visitor.server.address().partition(str(visitor.server.port))[2]
    entered = other.get(path)
    assert entered.status == 200
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie
    again = other.get(path)
    assert again.status == 401
    assert b"open the last address" in again.content
    other.cookie = cookie.partition(";")[0]
    assert other.get("/api/models").status == 200


@pytest.mark.parametrize(
    "cookie", ["", "convcnp-1=x", "convcnp-{port}=x", "convcnp-{port}=\xe9", ";"]
)
@pytest.mark.parametrize("path", ["/", "/api/models", "/api/page", "/js/main.js", "/openapi.json"])
def test_without_the_cookie_there_is_nothing(visitor, path, cookie):
    other = Visitor(visitor.server)
    other.cookie = cookie.format(port=visitor.server.port)
    answer = other.get(path)
    assert answer.status == 401
    assert b"without its key" in answer.content


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil:{port}"],
)
def test_a_foreign_host_is_refused(visitor, host):
    answer = visitor.get("/api/models", Host=host.format(port=visitor.server.port))
    assert answer.status == 403
    assert "own name" in answer.sentence


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},  # another port of this machine
    ],
)
def test_another_sites_page_is_refused(visitor, headers):
    headers = {name: value.format(port=visitor.server.port) for name, value in headers.items()}
    answer = visitor.post("/api/playground", {"points": [], "low": 0, "high": 1}, **headers)
    assert answer.status == 403
    assert "only the page may ask" in answer.sentence


def test_the_own_page_is_not(visitor):
    own = {"Origin": f"http://{visitor.host}", "Sec_Fetch_Site": "same-origin"}
    assert visitor.post("/api/playground", {"points": [], "low": 0, "high": 1}, **own).status == 200


@pytest.mark.parametrize("path", ["/", "/api/models", "/nothing", "/js/main.js"])
def test_everything_comes_with_the_policy(visitor, path):
    headers = visitor.get(path).headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "http" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"


def test_the_page_names_nothing_from_elsewhere():
    from convcnp.app.server import STATIC

    for path in STATIC.rglob("*"):
        if path.suffix in (".html", ".css", ".js") and "vendor" not in path.parts:
            found = re.findall(
                r"""(?:src|href|from|import|url\()[\s="'(]*(?:https?:)?//\S*""", path.read_text()
            )
            assert found == [], path


def test_names_of_a_server_that_others_reach():
    is_own = own_names("0.0.0.0", 80)
    assert is_own("192.168.0.7:80") and is_own("[fe80::1]:80") and is_own("localhost:80")
    assert not is_own("evil.example:80") and not is_own("192.168.0.7:81")


@pytest.mark.parametrize(
    ("host", "expected"), [("::1", True), ("localhost", True), ("10.0.0.1", False), ("me", False)]
)
def test_loopback(host, expected):
    assert is_loopback(host) is expected


def test_keys_differ():
    assert Keys(1).secret != Keys(1).secret
    assert not Keys(1).use("")
