"""The command `convcnp complete`: a picture in, its missing pixels filled."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from convcnp.cli.console import warnings_said
from convcnp.core.allocation import return_freed_memory
from convcnp.errors import SettingError
from convcnp.extras import import_extra
from convcnp.storage import check_folder


def complete(
    photo: Annotated[Path, typer.Argument(help="A picture: PNG, JPEG, grey or colour, any size.")],
    mask: Annotated[
        Path | None,
        typer.Option(help="A picture of the same size; where it is bright, pixels are missing."),
    ] = None,
    keep: Annotated[
        str | None, typer.Option(help="Share of the pixels to keep, such as 5%, drawn at random.")
    ] = None,
    box: Annotated[
        str | None, typer.Option(help="Remove a box: left,top,width,height in pixels.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="A shipped model or a run's directory; the best one shipped.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("out"),
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the pixels kept.")] = 1,
    max_megapixels: Annotated[
        int, typer.Option(min=1, help="Refuse larger pictures, which take gigabytes of memory.")
    ] = 200,
) -> None:
    """Fill the missing pixels of a picture, and show where not to trust them.

    Transparent pixels are missing, too.
    """
    from convcnp.cli.progress import bar
    from convcnp.data.images.photo import Photo
    from convcnp.plots.completion import write_completion
    from convcnp.predict.completion import all_but, default_model, fill, read_mask, within
    from convcnp.predict.zoo import load

    return_freed_memory()
    most_pixels = max_megapixels * 10**6
    given = Photo.read(photo, most_pixels)
    if mask is not None:
        given = given.without(read_mask(mask, given.shape, most_pixels))
    if keep is not None:
        given = given.without(all_but(keep, given.shape, seed))
    if box is not None:
        given = given.without(within(box, given.shape))
    if not given.missing.any():
        raise SettingError(
            f"Expected missing pixels, but all of {photo} are there; say which to fill with "
            "--mask, --keep or --box, or make them transparent."
        )
    predictor = load(model or default_model())
    check_folder(out)  # to hear of it before all is predicted, and of what draws the figure
    import_extra("matplotlib", "plot")
    with warnings_said(), bar("Completing") as progress:
        completion = fill(predictor.model, given, progress=progress)
    share = given.missing.count_nonzero() / given.missing.numel()
    print(
        f"Filled {share:.1%} of {given.shape[1]} x {given.shape[0]} pixels with {predictor.name}; "
        f"standard deviation there {completion.average_doubt:.3f} on average."
    )
    for path in write_completion(completion, out, photo.stem):
        print(f"Wrote {path}.")
