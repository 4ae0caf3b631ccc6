"""The demo: what `make demo` runs."""

import runpy
from pathlib import Path

import pandas as pd

DEMO = Path(__file__).parents[2] / "demo/demo.py"


def test_the_demo_leaves_its_tables_and_pictures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(DEMO))["main"]()
    assert pd.read_csv("out/co2.csv").notna().all(axis=None)
    assert pd.read_csv("out/lynx-hare.csv")["year"].tolist() == list(range(1881, 1899))
    for name in ("co2", "lynx-hare"):
        assert Path("out", f"{name}.png").read_bytes().startswith(b"\x89PNG")
