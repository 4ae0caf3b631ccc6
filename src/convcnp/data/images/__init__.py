"""Sources of images with missing pixels."""

from typing import TYPE_CHECKING

from convcnp.extras import imported_when_used

if TYPE_CHECKING:
    from convcnp.data.images.celeba import CelebA as CelebA
    from convcnp.data.images.dead_leaves import DeadLeaves as DeadLeaves
    from convcnp.data.images.folder import ImageFolder as ImageFolder
    from convcnp.data.images.mixed import MixedImages as MixedImages
    from convcnp.data.images.mnist import Mnist as Mnist
    from convcnp.data.images.mnist import Zsmm as Zsmm
    from convcnp.data.images.photo import Photo as Photo
    from convcnp.data.images.source import ImageSource as ImageSource
    from convcnp.data.images.source import PixelSource as PixelSource
    from convcnp.data.images.svhn import Svhn as Svhn

_NAMES = {
    "PixelSource": "source",
    "ImageSource": "source",
    "ImageFolder": "folder",
    "Photo": "photo",
    "Mnist": "mnist",
    "Zsmm": "mnist",
    "Svhn": "svhn",
    "CelebA": "celeba",
    "DeadLeaves": "dead_leaves",
    "MixedImages": "mixed",
}

__all__ = list(_NAMES)
__getattr__, __dir__ = imported_when_used(__name__, _NAMES)
