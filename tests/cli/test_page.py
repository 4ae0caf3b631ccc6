import re
import subprocess
import sys
import urllib.request

import pytest

from helpers import invoke


@pytest.mark.parametrize("arguments", [["--port", "70000"], ["--host", "no such host"]])
def test_a_wrong_option_is_a_sentence(arguments):
    result = invoke("app", "--no-open", *arguments)
    assert result.exit_code != 0
    assert "Traceback" not in result.output


def test_it_prints_an_address_that_opens_and_stops(tmp_path):
    command = [sys.executable, "-m", "convcnp", "app", "--no-open", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        try:
            address = re.search(r"http://\S+", process.stderr.readline())[0]
            with urllib.request.urlopen(address) as answer:
                assert answer.status == 200
            assert "Ctrl-C" in process.stderr.readline()
            assert "For another browser: http://127.0.0.1:" in process.stderr.readline()
        finally:
            process.send_signal(2)
            rest = process.stderr.read()
    assert process.returncode == 0
    assert rest == "Stopped; nothing was kept.\n"
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_stops_it_before_it_answers():
    command = [sys.executable, "-m", "convcnp", "app", "--no-open", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert "http://" in process.stderr.readline()
        process.send_signal(2)
        rest = process.stderr.read()
    assert process.returncode == 0
    assert rest == "Stop with Ctrl-C.\nStopped; nothing was kept.\n"


def test_listening_to_others_says_what_it_means():
    command = [
        sys.executable,
        "-m",
        "convcnp",
        "app",
        "--no-open",
        "--port",
        "0",
        "--host",
        "0.0.0.0",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert "everyone on the network" in process.stderr.readline()
        finally:
            process.kill()  # it may not listen to signals yet
