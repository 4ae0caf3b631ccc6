import http.client
import socket

from tests.app.serving_here import running

from convcnp.app.limits import Limits


def test_paths_have_limits_of_their_own():
    limits = Limits(table_bytes=1, picture_bytes=2, question_bytes=3)
    assert [limits.bytes_of(f"/api/{path}") for path in ("tables", "pictures", "x")] == [1, 2, 3]


def zeros(count):
    for _ in range(count):
        yield bytes(2**16)


def test_a_stream_of_zeros_is_stopped_while_it_is_read():
    sent = 0

    def far_too_many():
        nonlocal sent
        while sent < 2**30:
            sent += 2**16
            yield bytes(2**16)

    with running(table_bytes=2**20, question_bytes=2**20) as visitor, visitor.opened():
        for path in ("/api/tables", "/api/playground"):
            connection = http.client.HTTPConnection(visitor.host, timeout=30)
            headers = {"Cookie": visitor.cookie, "X-Page": visitor.page}
            try:
                connection.request("POST", path, far_too_many(), headers, encode_chunked=True)
            except OSError:  # the server has closed its side
                pass
            finally:
                connection.close()
        assert sent < 2**27
        body = zeros(32)
        answer = visitor.post("/api/tables", b"".join(body))
        assert answer.status == 413
        assert "at most 1,048,576 bytes" in answer.sentence
        assert visitor.get("/api/models").status == 200


def test_a_body_that_does_not_come_is_given_up():
    with running(seconds=0.5) as visitor:
        with socket.create_connection(("127.0.0.1", visitor.server.port), timeout=30) as slow:
            head = (
                f"POST /api/playground HTTP/1.1\r\nHost: {visitor.host}\r\nContent-Length: 100\r\n"
            )
            slow.sendall(f"{head}Cookie: {visitor.cookie}\r\n\r\n{{".encode())
            assert b"504" in slow.recv(2**12).splitlines()[0]
        assert visitor.get("/").status == 200
