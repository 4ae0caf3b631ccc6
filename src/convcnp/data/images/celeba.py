"""CelebA: faces, as a folder or zip file of images (Liu et al., 2015)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from convcnp.data.files import data_file
from convcnp.data.images.files import image_files
from convcnp.data.images.source import ImageSet, ImageSource
from convcnp.data.splits import PARTS
from convcnp.errors import check_positive

_HOME = "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html"
_PARTS_END = (162_770, 182_637, 202_599)  # of the official parts


@dataclass(frozen=True)
class CelebA(ImageSource):
    """Faces, scaled without regard to their shape of 178 x 218 (Liu et al., 2015).

    Found under CONVCNP_DATA as `celeba/img_align_celeba`, a folder or zip file; its home lets no
    program download it. The parts are the official ones if the set is whole; of a subset, the first
    eight tenths in the order of names, a tenth, and the last.

    Args:
        size: Pixels along both sides; if left out, images stay as they come.
    """

    options: ClassVar[tuple[str, ...]] = (*ImageSource.options, "size")

    size: int | None = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size is not None:
            check_positive("size", self.size)

    def images(self) -> ImageSet:
        """Return the images of this part."""
        files = image_files(self.file(), self.size, self.dim_y)
        ends = self.part_ends(len(files))
        starts = (0, *ends[:2])
        index = PARTS.index(self.part)
        return files.between(starts[index], ends[index])

    def file(self) -> Path:
        """Return the whole set, or a subset: small images do for small sizes."""
        subset = "first100_178x218" if (self.size or math.inf) > 89 else "first10000_89x109"
        names = ["img_align_celeba.zip", "img_align_celeba", f"img_align_celeba_{subset}.zip"]
        return data_file("celeba", names, _HOME)

    def part_ends(self, total: int) -> tuple[int, int, int]:
        """Return where the images of each part end, in the order of their names."""
        is_whole = total == _PARTS_END[-1]
        return _PARTS_END if is_whole else (total * 8 // 10, total * 9 // 10, total)
