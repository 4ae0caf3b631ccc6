"""SVHN, from small files that the tests write."""

import numpy as np
import pytest
import scipy.io

from convcnp.data.images.svhn import Svhn, read_mat
from convcnp.errors import DataError


def write(path, count, seed):
    pixels = np.random.default_rng(seed).integers(0, 256, (32, 32, 3, count), dtype=np.uint8)
    scipy.io.savemat(path, {"X": pixels, "y": np.ones((count, 1), np.uint8)}, do_compression=True)
    return pixels


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CONVCNP_DATA", str(tmp_path))
    (tmp_path / "svhn").mkdir()
    return tmp_path / "svhn"


def test_images_are_read_with_height_before_width_before_colour(folder):
    train = write(folder / "train_32x32.mat", 24, seed=0)
    test = write(folder / "test_32x32_first5000.mat", 5, seed=1)
    source = Svhn()
    assert (source.images()[3].numpy() == train[..., 3]).all()
    assert len(source.images()) == 22
    assert (source.held_out("validation").images()[1].numpy() == train[..., 23]).all()
    assert (source.held_out("test").images()[4].numpy() == test[..., 4]).all()
    assert source.dim_y == 3


@pytest.mark.parametrize("length", [0, 100, 5000])
def test_a_cut_file_is_named_with_what_to_do(folder, length):
    write(folder / "train_32x32.mat", 24, seed=0)
    path = folder / f"cut-{length}.mat"
    path.write_bytes((folder / "train_32x32.mat").read_bytes()[:length])
    with pytest.raises(DataError, match=r"cut-.*must be a MATLAB file with images X.*get it again"):
        read_mat(path)


def test_other_content_is_refused(folder):
    scipy.io.savemat(folder / "other.mat", {"X": np.zeros((3, 3))})
    with pytest.raises(DataError, match=r"must hold images X as bytes .* got float64"):
        read_mat(folder / "other.mat")
    scipy.io.savemat(folder / "empty.mat", {"Z": np.zeros((3, 3))})
    with pytest.raises(DataError, match="must be a MATLAB file with images X"):
        read_mat(folder / "empty.mat")
