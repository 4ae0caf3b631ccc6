"""The page in a real browser: what a hand does, and what is read from the screen.

Run by `make test-browser`, which makes sure that there is a Chromium. With PICTURES=folder it also
writes the pictures of the guide.
"""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.helpers import ROOT
from tools.draw_guides import keep

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
PICTURES = os.environ.get("PICTURES", "")
FAST = "general-convcnp"
WIDE = b"t,a,b,c,d,e\n" + b"".join(
    b"%d,%d,%d,%d,%d,%d\n" % (i, *((i + j) ** 2 % 7 for j in range(5))) for i in range(30)
)
PATIENCE = 90  # seconds, on a machine with much else to do

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM, reason="there is no chromium; apt-get install chromium"),
]
playwright = pytest.importorskip("playwright.sync_api")


class Running:
    """The command, in a process of its own."""

    def __init__(self, port: int = 0) -> None:
        command = [sys.executable, "-m", "convcnp", "app", "--no-open", "--port", str(port)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        said: list[str] = []
        while (found := re.search(r"http://\S+:(\d+)/\S*", "".join(said[-1:]))) is None:
            said.append(self.process.stderr.readline())
            assert said[-1], f"the server ended: {''.join(said)}"
        self.address, self.port = found[0], int(found[1])

    def stop(self, how: int = signal.SIGINT) -> None:
        self.process.send_signal(how)
        self.process.communicate(timeout=PATIENCE)


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    running = Running()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def context(browser: Any, server: Running) -> Iterator[Any]:
    found = browser.new_context(viewport={"width": 1280, "height": 900})
    found.set_default_timeout(1000 * PATIENCE)
    found.new_page().goto(server.address)
    yield found
    found.close()


@pytest.fixture
def page(context: Any, server: Running) -> Iterator[Any]:
    found = context.new_page()
    errors: list[str] = []
    foreign: list[str] = []
    found.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    found.on("pageerror", lambda error: errors.append(str(error)))
    own = (f"http://127.0.0.1:{server.port}/", "blob:", "data:")
    found.on("request", lambda r: None if r.url.startswith(own) else foreign.append(r.url))
    found.errors = errors
    found.goto(f"http://127.0.0.1:{server.port}/")
    until(found, "document.querySelector('#models-list tbody').rows.length > 30")
    yield found
    assert [error for error in found.errors if "422" not in error] == []
    assert foreign == []
    found.close()


def until(page: Any, expression: str) -> Any:
    """Wait until something is true; the page's policy forbids Playwright's own way."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(playwright.Error):  # while another address is loaded
            if found := page.evaluate(expression):
                return found
        page.wait_for_timeout(30)
    raise AssertionError(f"not in time: {expression}\n{page.inner_text('main')[:2000]}")


def idle(page: Any) -> None:
    """Wait until what a hand did has reached the page, and all that it asked is answered."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    until(page, "document.documentElement.dataset.underWay === '0'")


def picture(page: Any, name: str) -> None:
    """Keep a picture of the guide, if they are wanted."""
    if not PICTURES:
        return
    page.wait_for_timeout(400)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "page.png"
        page.screenshot(path=str(made))
        keep(made, Path(PICTURES) / f"app-{name}.png")


CHART = "document.querySelector('{} .chart')?.chart"


def curve(page: Any, part: str) -> dict[str, Any]:
    """Return what is drawn: the places, and of every band the numbers."""
    return json.loads(page.evaluate(f"JSON.stringify({CHART.format(part)}.curve)"))


def drawn(page: Any, part: str) -> None:
    until(page, f"({CHART.format(part)}?.curve.x.length ?? 0) > 10")


def drop(page: Any, name: str, content: bytes) -> None:
    """Let a file fall onto the page."""
    page.evaluate(
        """([name, bytes]) => {
            const data = new DataTransfer();
            data.items.add(new File([new Uint8Array(bytes)], name));
            dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
        }""",
        [name, list(content)],
    )


def choose_model(page: Any, name: str = FAST) -> None:
    """Choose the model of a table that is to come; its menu is shown with the table."""
    page.evaluate(f"document.querySelector('#series-model').value = '{name}'")


def drop_co2(page: Any, model: str = FAST) -> None:
    choose_model(page, model)
    drop(page, "co2.csv", (ROOT / "examples/co2.csv").read_bytes())
    until(page, "document.querySelector('#series-words').textContent.includes('co2')")
    drawn(page, "#series-charts")


def hold(page: Any, path: str) -> None:
    """Keep answers to one kind of question from the page, until `let_go` hands them out in turn."""
    page.evaluate(
        """(path) => {
            const now = window.fetch;
            window.held = [];
            window.coming = 0;
            window.fetch = async (asked, options) => {
                coming += 1;
                const answer = await now(asked, options).finally(() => (coming -= 1));
                if (held && asked.includes(path)) await new Promise((go) => held.push(go));
                return answer;
            };
        }""",
        path,
    )


def held(page: Any) -> None:
    """Wait until one answer is kept from the page."""
    until(page, "held.length === 1")


def let_go(page: Any, which: int = 0) -> None:
    """Hand the page one of the answers that were kept from it."""
    page.evaluate(f"held.splice({which}, 1)[0]()")


def let_all_go(page: Any) -> None:
    """Hand the page all answers, and keep no more."""
    page.evaluate("(() => { const all = held; held = null; for (const go of all) go(); })()")


# --- Series ---------------------------------------------------------------------------------------


def test_drop_a_file_and_read_the_band_from_the_chart(page):
    drop_co2(page, "general" if PICTURES else FAST)
    assert "Predicting 'co2' over 'date'" in page.inner_text("#series-words")
    found = curve(page, "#series-charts")
    box = page.locator("#series-charts .u-over").bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    text = until(
        page,
        "document.querySelector('#series-readout').textContent.includes('90 %') && "
        "document.querySelector('#series-readout').textContent",
    )
    date, mean, low, high = re.search(
        r"([\d-]+) – co2: mean ([\d.]+), 50 % from .* 90 % from ([\d.]+) to ([\d.]+)", text
    ).groups()
    days = np.array(found["x"]).astype("int64").astype("datetime64[s]").astype("datetime64[D]")
    place = int(np.argmax(days == np.datetime64(date)))
    for said, part in ((mean, "mean"), (low, "q05"), (high, "q95")):
        assert float(said) == pytest.approx(found["bands"][0][part][place], rel=1e-3)
    picture(page, "series")


def test_zoom_to_a_gap_pan_and_see_all(page):
    drop_co2(page)
    whole = curve(page, "#series-charts")["x"]
    page.click("#series-gaps button >> nth=0")
    until(page, f"{CHART.format('#series-charts')}.curve.x[0] > {whole[0]}")
    near = curve(page, "#series-charts")["x"]
    assert near[-1] - near[0] < 0.3 * (whole[-1] - whole[0])
    page.focus("#series-charts .u-over")
    page.keyboard.press("ArrowRight")
    until(page, f"{CHART.format('#series-charts')}.curve.x[0] > {near[0]}")
    page.click("#series-all")
    until(page, f"{CHART.format('#series-charts')}.curve.x[0] === {whole[0]}")


def test_the_slider_looks_ahead_and_the_command_says_so(page):
    drop_co2(page)
    last = curve(page, "#series-charts")["x"][-1]
    page.focus("#series-ahead")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    until(
        page,
        f"Math.abs({CHART.format('#series-charts')}.curve.x.at(-1) - {last + 3 * 7 * 86400}) < 1",
    )
    until(page, "document.querySelector('#series-command').textContent.includes('--ahead 3')")


def test_the_answer_is_downloaded(page):
    drop_co2(page)
    with page.expect_download() as waited:
        page.click("#series-csv")
    assert waited.value.suggested_filename == "co2-predicted.csv"
    lines = Path(waited.value.path()).read_text().splitlines()
    assert lines[0] == "date,co2_mean,co2_std,co2_q05,co2_q25,co2_q75,co2_q95"
    with page.expect_download() as waited:
        page.click("#series-png")
    assert Path(waited.value.path()).read_bytes().startswith(b"\x89PNG")


def test_paste_groups_and_menus(page):
    rows = "\n".join(f"{s}\t{i}\t{i % 7 + 10 * (s == 'b')}" for s in "ab" for i in range(20))
    page.evaluate(
        """(text) => {
            const data = new DataTransfer();
            data.setData("text/plain", text);
            const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true });
            document.body.dispatchEvent(event);
        }""",
        f"station\tday\tlevel\n{rows}\n",
    )
    drawn(page, "#series-charts")
    assert "2 series by 'station'" in page.inner_text("#series-words")
    first = curve(page, "#series-charts")["bands"][0]["mean"]
    page.select_option("#series-number", "1")
    until(page, f"{CHART.format('#series-charts')}?.curve.bands[0]?.mean[0] > {max(first)}")


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n", b"a\n", b"t,v\nx,y\n"])
def test_a_wrong_file_is_a_sentence(page, content):
    drop(page, "wrong.csv", content)
    text = until(page, "document.querySelector('#series-error').textContent")
    assert text.startswith("Expected ") and text.endswith(".")


def test_only_the_columns_that_are_drawn_are_predicted(page):
    asked: list[list[str]] = []
    page.on(
        "request",
        lambda r: asked.append(r.post_data_json["values"]) if r.url.endswith("/curve") else None,
    )
    choose_model(page)
    drop(page, "wide.csv", WIDE)
    drawn(page, "#series-charts")
    for column in "abc":
        page.uncheck(f"#series-values input[value={column}]")
        idle(page)
    assert page.locator("#series-charts h3").all_inner_texts() == ["a", "b", "c"]
    drawn(page, "#series-charts")
    assert asked == [["a", "b", "c"], ["b", "c"], ["c"], ["a", "b", "c"]]


# --- Answers that come late -----------------------------------------------------------------------


def choose_tide(page: Any) -> None:
    page.select_option("#series-example", "tide")


def shows_tide(page: Any) -> None:
    """Assert that nothing of another table is left."""
    assert "Predicting 'level' over 'time'" in page.inner_text("#series-words")
    assert "tide.csv" in page.text_content("#series-command")
    boxes = page.locator("#series-values input")
    assert [(box.input_value(), box.is_checked()) for box in boxes.all()] == [
        ("time", False),
        ("level", True),
    ]
    assert page.locator("#series-charts h3").all_inner_texts() == ["level"]
    assert curve(page, "#series-charts")["bands"][0]["name"] == "level"
    assert page.inner_text("#series-error") == ""


def test_an_answer_that_comes_late_does_not_stand(page):
    drop_co2(page)
    hold(page, "series/understanding")
    page.focus("#series-ahead")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    for ahead in (1, 3):  # who asks in between waits, and only the last of them is asked
        held(page)
        assert f"--ahead {ahead}" not in page.text_content("#series-command")
        let_go(page)
        until(
            page,
            f"document.querySelector('#series-command').textContent.includes('--ahead {ahead} ')",
        )
    idle(page)
    assert "at 3 ahead of the last value" in page.inner_text("#series-words")


@pytest.mark.parametrize("seed", range(6))
def test_in_any_order_of_answers_what_was_chosen_last_stands(page, seed):
    drop_co2(page)
    last = curve(page, "#series-charts")["x"][-1]
    hold(page, "api/series/")
    page.focus("#series-ahead")
    draw = random.Random(seed)
    moves = draw.sample(["press", "let go"], counts=[3, 2], k=5) + 8 * ["let go"]
    for move in moves:
        if move == "press":
            page.keyboard.press("ArrowRight")
        elif count := page.evaluate("held.length"):
            let_go(page, draw.randrange(count))
        until(page, "coming === 0")
    let_all_go(page)
    idle(page)
    assert "--ahead 3 " in page.text_content("#series-command")
    assert "at 3 ahead of the last value" in page.inner_text("#series-words")
    assert curve(page, "#series-charts")["x"][-1] == pytest.approx(last + 3 * 7 * 86400)


@pytest.mark.parametrize(
    "content", [(ROOT / "examples/co2.csv").read_bytes(), b"a\n"], ids=["read", "refused"]
)
def test_an_upload_that_is_answered_late_does_not_stand(page, content):
    choose_model(page)
    hold(page, "api/tables")
    drop(page, "co2.csv", content)
    held(page)
    choose_tide(page)
    drawn(page, "#series-charts")
    let_go(page)
    idle(page)
    shows_tide(page)


def test_a_new_table_is_not_looked_ahead_of(page):
    drop_co2(page)
    page.focus("#series-ahead")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#series-ahead-said") == "1 step ahead"
    choose_tide(page)
    until(page, "document.querySelector('#series-ahead-said').textContent === 'no steps'")


def test_a_picture_that_is_answered_late_does_not_stand(page):
    page.click("nav a[href='#pictures']")
    hold(page, "api/pictures?")
    small = b"P6 8 8 255\n" + bytes(192)
    page.set_input_files(
        "#picture-file",
        {"name": "small.ppm", "mimeType": "image/x-portable-pixmap", "buffer": small},
    )
    held(page)
    page.click("#picture-example")
    until(page, "held.length === 2")
    let_go(page, 1)
    until(page, "document.querySelector('#picture-given').width === 256")
    let_go(page)
    idle(page)
    assert page.evaluate("document.querySelector('#picture-given').width") == 256
    assert page.inner_text("#picture-error") == ""


@pytest.mark.parametrize("question", [1, 2])
def test_words_about_a_table_that_was_replaced_are_dropped(page, question):
    """A wide table is asked about twice: which columns there are, and of those that are shown."""
    choose_model(page)
    hold(page, "series/understanding")
    drop(page, "wide.csv", WIDE)
    for _ in range(question - 1):
        held(page)
        let_go(page)
    held(page)
    choose_tide(page)
    until(page, "document.querySelector('#series-time').options[1].value === 'time'")
    let_go(page)
    held(page)  # what comes next is about the tide
    assert page.text_content("#series-words") == ""
    let_go(page)
    idle(page)
    shows_tide(page)


def test_a_curve_of_columns_that_were_replaced_is_dropped(page):
    choose_model(page)
    page.select_option("#series-example", "stations")
    drawn(page, "#series-charts")
    hold(page, "series/curve")
    page.click("#series-all")
    held(page)
    page.select_option("#series-number", "2")
    until(page, f"{CHART.format('#series-charts')}.curve.x.length === 0")  # charts are new
    let_go(page)
    held(page)  # what comes next is about the other station
    assert curve(page, "#series-charts")["x"] == []
    let_go(page)
    drawn(page, "#series-charts")


def test_a_curve_that_comes_late_leaves_what_was_refused_meanwhile(page):
    drop_co2(page)
    hold(page, "series/curve")
    page.click("#series-all")
    held(page)
    drop(page, "wrong.csv", b"a\n")
    until(page, "document.querySelector('#series-error').textContent")
    let_go(page)
    idle(page)
    assert "wrong.csv" in page.inner_text("#series-error")


def test_a_curve_that_is_refused_late_says_nothing_of_other_columns(page):
    choose_model(page)
    page.select_option("#series-example", "stations")
    drawn(page, "#series-charts")
    hold(page, "series/curve")
    refusal = {"status": 422, "json": {"error": "Expected less at once; ask for less."}}
    page.route("**/series/curve", lambda route: route.fulfill(**refusal), times=1)
    page.click("#series-all")
    held(page)
    page.select_option("#series-number", "2")
    until(page, f"{CHART.format('#series-charts')}.curve.x.length === 0")  # charts are new
    let_go(page)
    held(page)  # what comes next is about the other station
    assert page.inner_text("#series-error") == ""
    let_go(page)
    drawn(page, "#series-charts")


# --- Playground -----------------------------------------------------------------------------------


@pytest.fixture
def plane(page):
    page.click("nav a[href='#playground']")
    page.select_option("#play-first", "eq-convcnp")
    drawn(page, "#play-chart")
    idle(page)
    return page


def place(page: Any, x: float, y: float) -> tuple[float, float]:
    """Return where on the screen a point of the plane is."""
    box = page.locator("#play-chart .u-over").bounding_box()
    left, top = page.evaluate(
        f"(() => {{ const p = {CHART.format('#play-chart')}.plot;"
        f" return [p.valToPos({x}, 'x'), p.valToPos({y}, 'y')]; }})()"
    )
    return box["x"] + left, box["y"] + top


def points(page: Any) -> list[list[float]]:
    found = page.evaluate(f"JSON.stringify({CHART.format('#play-chart')}.points.at(-1))")
    pairs = json.loads(found)
    return list(zip(pairs["x"], pairs["y"], strict=True))


def mean_at(page: Any, x: float, band: int = 0) -> float:
    found = curve(page, "#play-chart")
    return float(np.interp(x, found["x"], found["bands"][band]["mean"]))


def test_add_drag_and_remove_a_point(plane):
    before = len(points(plane))
    plane.mouse.click(*place(plane, 3.0, 1.5))
    idle(plane)
    assert len(points(plane)) == before + 1
    assert mean_at(plane, 3.0) == pytest.approx(1.5, abs=0.2)
    plane.mouse.move(*place(plane, 3.0, 1.5))
    plane.mouse.down()
    plane.mouse.move(*place(plane, 4.0, -1.0), steps=8)
    idle(plane)
    assert mean_at(plane, 4.0) == pytest.approx(-1.0, abs=0.2)  # while the button is held
    plane.mouse.up()
    plane.mouse.click(*place(plane, 4.0, -1.0), button="right")
    idle(plane)
    assert len(points(plane)) == before
    assert abs(mean_at(plane, 4.0)) < 0.2


def test_drag_the_set_and_the_convcnp_travels_along(plane):
    before = curve(plane, "#play-chart")
    plane.keyboard.down("Shift")
    plane.mouse.move(*place(plane, -3.0, 0.0))
    plane.mouse.down()
    plane.mouse.move(*place(plane, 0.5, 0.0), steps=10)
    plane.mouse.up()
    plane.keyboard.up("Shift")
    idle(plane)
    after = curve(plane, "#play-chart")
    shift = points(plane)[0][0] + 1.3
    assert shift == pytest.approx(3.5, abs=0.05)
    step = before["x"][1] - before["x"][0]
    there = np.round((np.array(after["x"]) - shift - before["x"][0]) / step).astype(int)
    is_shared = (there >= 0) & (there < len(before["x"]))
    assert is_shared.sum() > 200
    np.testing.assert_allclose(
        np.array(before["x"])[there[is_shared]] + shift, np.array(after["x"])[is_shared], atol=1e-6
    )
    for part in ("mean", "q05", "q95"):
        convcnp, attncnp = (
            np.array(after["bands"][i][part])[is_shared]
            - np.array(before["bands"][i][part])[there[is_shared]]
            for i in (0, 1)
        )
        assert np.abs(convcnp).max() < 1e-3
        assert np.abs(attncnp).max() > 0.3
    picture(plane, "playground")


def test_the_plane_works_with_the_keyboard(plane):
    plane.click("#play-clear")
    idle(plane)
    plane.focus("#play-chart .u-over")
    for key in ("ArrowRight", "ArrowUp", "ArrowUp", "Enter"):
        plane.keyboard.press(key)
    idle(plane)
    np.testing.assert_allclose(points(plane), [[0.1, 0.2]], atol=1e-9)
    plane.keyboard.press("Shift+ArrowRight")
    idle(plane)
    np.testing.assert_allclose(points(plane), [[0.2, 0.2]], atol=1e-9)
    plane.keyboard.press("Delete")
    idle(plane)
    assert points(plane) == []


def test_a_new_function_is_hidden_in_part_and_scored(plane):
    plane.click("#play-kinds button >> nth=1")
    until(
        plane, "/^-?[0-9.]+$/.test(document.querySelector('#play-scores td.number')?.textContent)"
    )
    scores = plane.locator("#play-scores td.number").all_inner_texts()
    assert len(scores) == 3


# --- Pictures -------------------------------------------------------------------------------------


def pixels(page: Any, canvas: str) -> np.ndarray:
    size, data = page.evaluate(
        f"(() => {{ const c = document.querySelector('{canvas}');"
        " const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        " return [[c.height, c.width, 4], Array.from(d)]; })()"
    )
    return np.array(data, dtype=np.uint8).reshape(size)


@pytest.fixture
def easel(page):
    page.click("nav a[href='#pictures']")
    page.click("#picture-example")
    until(page, "document.querySelector('#picture-given').width === 256")
    return page


def test_paint_a_mask_and_see_it_completed(easel):
    box = easel.locator("#picture-given").bounding_box()
    easel.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.2 * box["height"])
    easel.mouse.down()
    easel.mouse.move(box["x"] + 0.85 * box["width"], box["y"] + 0.35 * box["height"], steps=5)
    easel.mouse.up()
    until(easel, "document.querySelector('#picture-said').textContent.startsWith('Filled')")
    idle(easel)
    until(easel, "document.querySelector('#picture-busy').hidden")
    given, completed = pixels(easel, "#picture-given"), pixels(easel, "#picture-completed")
    missing = given[..., 3] < 128
    assert 0.01 < missing.mean() < 0.3
    is_whole = given[..., 3] == 255  # at the brush's edge colours are rounded
    np.testing.assert_array_equal(completed[is_whole], given[is_whole])
    assert (completed[..., 3] == 255).all()
    doubt = pixels(easel, "#picture-doubt")[..., 0]
    assert doubt[missing].mean() > 20 and not doubt[~missing].any()
    with easel.expect_download() as waited:
        easel.click("#picture-save")
    assert waited.value.suggested_filename == "landscape-completed.png"


def test_keep_a_share_of_the_pixels(easel):
    if PICTURES:
        drop(easel, "astronaut.png", astronaut())
        until(easel, "document.querySelector('#picture-given').width === 256 && true")
        easel.wait_for_timeout(1500)
    easel.focus("#picture-keep")
    for _ in range(10):
        easel.keyboard.press("ArrowRight")
    until(easel, "document.querySelector('#picture-said').textContent.startsWith('Filled 90.0%')")
    until(easel, "document.querySelector('#picture-busy').hidden")
    idle(easel)
    assert "--keep 0.1" in easel.text_content("#picture-command")
    picture(easel, "pictures")


def astronaut() -> bytes:
    """Return a part of a photograph in the public domain, where the data is; else a gradient."""
    import io

    from PIL import Image

    path = Path(os.environ.get("CONVCNP_DATA", "")) / "photo/astronaut.png"
    image = Image.open(path).convert("RGB").crop((96, 0, 352, 256))
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def test_strokes_become_a_digit(easel):
    box = easel.locator("#picture-strokes").bounding_box()
    at = lambda x, y: (box["x"] + x * box["width"], box["y"] + y * box["height"])  # noqa: E731
    easel.mouse.move(*at(0.3, 0.2))
    easel.mouse.down()
    easel.mouse.move(*at(0.7, 0.2), steps=6)
    easel.mouse.move(*at(0.55, 0.5), steps=6)
    easel.mouse.up()
    until(easel, "document.querySelector('#picture-digit-said').textContent.startsWith('Filled')")
    idle(easel)
    completed = pixels(easel, "#picture-digit-completed")
    assert completed[..., 0].max() > 200 and completed[..., 0].min() < 60


# --- Models, colours, widths ----------------------------------------------------------------------


def test_models_have_their_figures(page):
    page.click("nav a[href='#models']")
    page.click("#models-list button:text-is('eq-convcnp')")
    until(page, "document.querySelector('#models-figure').naturalWidth > 300")
    assert "0.70" in page.inner_text("#models-list")


def test_the_api_page_lists_every_question(page, server):
    page.goto(f"http://127.0.0.1:{server.port}/api.html")
    until(page, "document.querySelectorAll('#paths details').length > 10")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1600])
def test_every_part_fits_every_width_in_both_schemes(page, width, scheme):
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    for part in ("series", "playground", "pictures", "models"):
        page.click(f"nav a[href='#{part}']")
        if part == "series":
            choose_model(page)
            page.select_option("#series-example", "stations")
            drawn(page, "#series-charts")
        if part == "playground":
            drawn(page, "#play-chart")
        if part == "pictures":
            page.click("#picture-example")
            until(page, "document.querySelector('#picture-given').width === 256")
        idle(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 200) == (scheme == "dark")
        if PICTURES and os.environ.get("LOOK"):
            page.screenshot(
                path=f"{os.environ['LOOK']}/{part}-{width}-{scheme}.png", full_page=True
            )


# --- The server goes and comes --------------------------------------------------------------------


def test_a_port_that_is_taken_is_said_before_the_address(server):
    other = Running(server.port)
    assert other.port != server.port
    other.stop()


def test_a_page_says_that_the_server_is_gone_and_goes_on_when_it_is_back(browser):
    first = Running()
    context = browser.new_context()
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    page.goto(first.address)
    until(page, "document.querySelector('#models-list tbody').rows.length > 30")
    choose_model(page)
    page.select_option("#series-example", "tide")
    drawn(page, "#series-charts")
    first.stop(signal.SIGKILL)
    until(page, "!document.querySelector('#gone').hidden")
    assert "convcnp app" in page.inner_text("#gone")
    second = Running(first.port)
    try:
        assert second.port == first.port
        until(page, "document.querySelector('#gone').textContent.includes('started anew')")
        context.new_page().goto(second.address)  # as the command does by itself
        until(page, "document.querySelector('#gone').hidden")
        last = curve(page, "#series-charts")["x"][-1]
        page.click("#series-gaps button >> nth=0")  # the table was given again
        until(page, f"{CHART.format('#series-charts')}.curve.x.at(-1) < {last}")
        assert page.inner_text("#series-error") == ""
    finally:
        context.close()
        second.stop()
