"""Commands for the paper's tables and figures, and for comparisons on series and photographs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from convcnp.cli.console import say, show_table
from convcnp.cli.options import Results
from convcnp.errors import SettingError

FORMATS = ("terminal", "markdown", "csv")


def table(
    name: Annotated[str, typer.Argument(help="Name of the table, such as table1 or real-series.")],
    form: Annotated[str, typer.Option("--format", help="terminal, markdown or csv.")] = "terminal",
    experiments: Annotated[Path, typer.Option(help="Folder of the experiment files.")] = Path(
        "experiments"
    ),
    results: Results = Path("results"),
) -> None:
    """Print a table of the paper, its numbers beside ours; or of `compare`."""
    from convcnp.paper.tables import build_table

    if form not in FORMATS:
        raise SettingError(f"--format must be terminal, markdown or csv, got {form!r}; choose one.")
    built = build_table(name, experiments, results)
    if form == "terminal":
        show_table(built.header, built.rows, title=built.title)
    else:
        print(built.markdown() if form == "markdown" else built.csv(), end="")


def compare(
    series: Annotated[
        list[str] | None, typer.Option(help="A real series; all if left out. Repeatable.")
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            help="general, gp, celerite, components, seasonal-naive, splines or linear; all if "
            "left out. Or general-errors and dictionary-errors, which are told the published "
            "errors of series that have them. Repeatable."
        ),
    ] = None,
    removals: Annotated[
        list[str] | None,
        typer.Option(help="random, blocks, middle or forecast; all if left out. Repeatable."),
    ] = None,
    times: Annotated[
        int | None,
        typer.Option(min=1, help="How often points are removed anew; three times if left out."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the result files.")] = Path(
        "results/real-series"
    ),
) -> None:
    """Compare the general model with what people would fit, on real series.

    Results join those of other methods and removals that the folder has; `convcnp table
    real-series` shows them, and `convcnp table real-series-summary` sums them up.
    """
    import torch

    from convcnp.paper.comparison import METHODS
    from convcnp.paper.comparison import compare as score_methods
    from convcnp.paper.real_series import SERIES
    from convcnp.paper.removals import REMOVALS

    torch.set_num_threads(1)  # times are compared on one thread
    paths = score_methods(
        series or list(SERIES),
        methods or list(METHODS),
        out,
        removals=removals or list(REMOVALS),
        report=_say_scores,
        times=times,
    )
    print(f"Wrote {len(paths)} result file{'s' if len(paths) > 1 else ''} to {out}.")


def compare_plane(
    sets: Annotated[
        list[str] | None,
        typer.Option(help="A real set of points; all if left out. Repeatable."),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(help="general, gp, linear or nearest; all if left out. Repeatable."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the result files.")] = Path("results/plane"),
) -> None:
    """Compare the general model with what people would fit, on real points in the plane.

    Results join those of other methods that the folder has; `convcnp table plane` shows them, and
    `convcnp table plane-summary` sums them up.
    """
    import torch

    from convcnp.paper.measured_fields import FIELDS
    from convcnp.paper.plane_comparison import PLANE_METHODS, compare_in_plane

    torch.set_num_threads(1)  # times are compared on one thread
    paths = compare_in_plane(
        sets or list(FIELDS), methods or list(PLANE_METHODS), out, report=_say_scores
    )
    print(f"Wrote {len(paths)} result file{'s' if len(paths) > 1 else ''} to {out}.")


def _say_scores(series: str, method: str, scores: dict[str, list[dict[str, Any]]]) -> None:
    for removal, found in scores.items():
        mean = {
            key: sum(score[key] for score in found) / len(found)
            for key in ("log_likelihood", "crps", "coverage90", "seconds")
        }
        say(
            f"{series}, {removal}, {method}: log-likelihood {mean['log_likelihood']:.3f}, CRPS "
            f"{mean['crps']:.3g}, coverage {mean['coverage90']:.0%}, {mean['seconds']:.3g} s"
        )


def compare_photographs(
    photos: Annotated[
        list[str] | None,
        typer.Option(help="A photograph of scikit-image; all if left out. Repeatable."),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            help="general, faces, biharmonic, telea or navier-stokes; all if left out. Repeatable."
        ),
    ] = None,
    damages: Annotated[
        list[str] | None,
        typer.Option(help="keep5, keep20, boxes, scratches or text; all if left out. Repeatable."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the result files.")] = Path(
        "results/photographs"
    ),
) -> None:
    """Compare the filling of photographs with scikit-image's and OpenCV's.

    Results join those of other methods that the folder has; `convcnp table photographs` shows them.
    """
    import torch

    from convcnp.paper.damages import DAMAGES
    from convcnp.paper.photographs import METHODS, PHOTOS
    from convcnp.paper.photographs import compare_photographs as score_methods

    torch.set_num_threads(1)  # times are compared on one thread
    paths = score_methods(
        photos or list(PHOTOS),
        methods or list(METHODS),
        out,
        damages=damages or list(DAMAGES),
        report=_say_photograph,
    )
    print(f"Wrote {len(paths)} result file{'s' if len(paths) > 1 else ''} to {out}.")


def _say_photograph(photo: str, method: str, scores: dict[str, dict[str, Any]]) -> None:
    for damage, found in scores.items():
        covered = f", coverage {found['coverage90']:.0%}" if "coverage90" in found else ""
        say(
            f"{photo}, {damage}, {method}: PSNR {found['psnr']:.1f} dB, SSIM {found['ssim']:.3f}"
            f"{covered}, {found['seconds']:.2g} s"
        )


def figure(
    name: Annotated[
        str,
        typer.Argument(help="figure2, figure3, light-curves, images-mnist, real-series and so on."),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("out"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of what is drawn at random.")] = 1,
    results: Results = Path("results"),
    runs: Annotated[Path, typer.Option(help="Folder of runs, for models that do not ship.")] = Path(
        "runs"
    ),
    method: Annotated[
        str, typer.Option(help="Of the figure real-series: general, gp, celerite and so on.")
    ] = "general",
) -> None:
    """Draw a figure of the paper with the shipped models, or real series with blocks missing."""
    from convcnp.cli.progress import downloads_shown
    from convcnp.paper.figures.paper import draw_paper_figure
    from convcnp.paper.figures.shelf import Shelf

    with downloads_shown():
        path = draw_paper_figure(name, Shelf(results, runs, method), out, seed)
    print(f"Wrote {path}.")
