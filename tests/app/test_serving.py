import socket

import pytest

from convcnp.app.serving import Server
from convcnp.errors import SettingError


def test_the_next_free_port_is_taken():
    first = Server(port=0)
    try:
        second = Server(port=first.port)
        assert second.port != first.port
        second.close()
    finally:
        first.close()


@pytest.mark.parametrize("host", ["no such host", "192.0.2.1"])
def test_a_host_that_is_not_ours_is_a_sentence(host):
    with pytest.raises(SettingError, match=r"host(=| must be)"):
        Server(host=host, port=0)


def test_the_address_of_every_interface_is_one_that_opens_here():
    server = Server(host="0.0.0.0", port=0)
    try:
        assert server.address().startswith(f"http://127.0.0.1:{server.port}/?token=")
    finally:
        server.close()


def test_only_this_machine_is_listened_to():
    server = Server(port=0)
    try:
        assert server._socket.getsockname()[0] == "127.0.0.1"
        assert server._socket.family == socket.AF_INET
    finally:
        server.close()
