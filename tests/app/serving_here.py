"""A running server for the tests, and a browser's side of it without a browser."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from convcnp.app.limits import Limits
from convcnp.app.serving import Server


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def sentence(self) -> str:
        """What was refused: a sentence that says what to do, and no traceback."""
        text = self.json["error"]
        assert text[-1] in ".?" and "Traceback" not in text and len(text) > 20, text
        return text


class Visitor:
    """Asks a server what a page asks, with the cookie that it got for a token."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.cookie = ""
        self.page = ""

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server.port}"

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send a request on a connection of its own."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        if isinstance(body, dict):
            body = json.dumps(body)
            headers.setdefault("content-type", "application/json")
        sent = {"Host": self.host, "Cookie": self.cookie, "X-Page": self.page}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, body, {k: v for k, v in sent.items() if v})
            found = connection.getresponse()
            answer = Answer(found.status, dict(found.getheaders()), found.read())
        finally:
            connection.close()
        return answer

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        return self.ask("POST", path, body, **headers)

    def enter(self) -> None:
        """Come by the printed address."""
        answer = self.get(self.server.address().partition(str(self.server.port))[2])
        self.cookie = answer.headers["set-cookie"].partition(";")[0]

    @contextmanager
    def opened(self) -> Iterator["Visitor"]:
        """Keep a page open."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        connection.request("GET", "/api/page", headers={"Cookie": self.cookie})
        stream = connection.getresponse()
        assert stream.readline() == b"event: hello\n"
        self.page = stream.readline().decode().removeprefix("data: ").strip()
        try:
            yield self
        finally:
            stream.close()
            connection.close()


@contextmanager
def running(**limits: Any) -> Iterator[Visitor]:
    """Run a server in a thread, and come in."""
    server = Server(port=0, limits=Limits(**limits))
    thread = threading.Thread(target=server.run)
    thread.start()
    visitor = Visitor(server)
    try:
        visitor.enter()
        yield visitor
    finally:
        server.stop()
        thread.join(20)
        assert not thread.is_alive()
