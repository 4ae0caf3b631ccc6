"""MNIST and its pairs of digits, from small files that the tests write."""

import gzip

import pytest
import torch

from convcnp.data.images import mnist
from convcnp.data.images.mnist import Mnist, Zsmm, read_idx
from convcnp.data.source import seeded
from convcnp.errors import DataError, SettingError
from helpers import idx, some_digits


def test_digits_of_their_own_size_are_those_of_the_files(digits):
    train, test = digits
    source = Mnist(size=28)
    assert torch.equal(source.images()[..., 0], train[:22])
    assert torch.equal(source.held_out("validation").images()[..., 0], train[22:])
    assert torch.equal(source.held_out("test").images()[..., 0], test)
    assert (source.dim_x, source.dim_y) == (2, 1)


def test_digits_are_scaled_and_stay_where_they_are(digits):
    train, _ = digits
    scaled = Mnist().images()
    assert scaled.shape == (22, 32, 32, 1)
    assert scaled.dtype == torch.uint8
    weight = train[:22].double()
    rows = (torch.arange(28) + 0.5) / 28
    for axis in (1, 2):
        before = (weight.sum(3 - axis) * rows).sum(1) / weight.sum((1, 2))
        larger = scaled[..., 0].double()
        after = (larger.sum(3 - axis) * (torch.arange(32) + 0.5) / 32).sum(1) / larger.sum((1, 2))
        assert (before - after).abs().max() < 5e-3
    assert (scaled.double().mean() / weight.mean()).item() == pytest.approx(1, abs=0.05)


def test_scaling_is_bilinear(tmp_path):
    half = torch.zeros(1, 28, 28, dtype=torch.uint8)
    half[0, :, 14:] = 240
    (tmp_path / "half").write_bytes(idx(half))
    row = mnist._scaled_digits(tmp_path / "half", 32)[0, 9, :, 0]
    assert row[14:18].tolist() == [0, 0.0625 * 240, 0.9375 * 240, 240]


def test_zsmm_trains_on_digits_in_the_middle(digits):
    train, _ = digits
    for part, expected in (("training", train[:22]), ("validation", train[22:])):
        images = Zsmm(part=part).images()[..., 0]
        assert images.shape == (len(expected), 56, 56)
        assert torch.equal(images[:, 14:42, 14:42], expected)
        assert images.long().sum() == expected.long().sum()


def test_zsmm_tests_on_two_digits_that_do_not_overlap(digits):
    _, test = digits
    images = Zsmm().held_out("test").images()[..., 0]
    assert images.shape == (50, 56, 56)
    # No two of the six digits add up to the sum of another two: the pair is known by its sum, and
    # an overlap would lose ink.
    ink = test.long().sum((1, 2))
    sums = {int(a + b) for a in ink for b in ink}
    assert {int(image.long().sum()) for image in images} <= sums
    assert len({tuple(torch.nonzero(image)[0].tolist()) for image in images}) > 10
    squares = [(i, j) for i in range(29) for j in range(29)]
    is_above, is_moved_alike = set(), set()
    for image in images[:10]:
        found = [
            (i, j)
            for i, j in squares
            if any(torch.equal(image[i + 4 : i + 24, j + 4 : j + 24], d[4:24, 4:24]) for d in test)
        ]
        assert len(found) == 2
        (top, left), (low, right) = found
        assert abs(top - low) >= 28 or abs(left - right) >= 28
        is_above.add(abs(top - low) >= 28)
        is_moved_alike.add(left == right or top == low)
    assert is_above == {True, False}
    assert False in is_moved_alike


def test_the_pairs_are_the_same_in_every_run(digits):
    first = Zsmm().held_out("test").images().clone()
    mnist._pairs.cache_clear()
    assert torch.equal(Zsmm().held_out("test").images(), first)


def test_a_task_can_be_drawn(digits):
    task = Zsmm().draw(3, seeded(0))
    assert (task.height, task.width, task.dim_y) == (56, 56, 1)


@pytest.mark.parametrize(
    "damage, reason",
    [
        (lambda content: content[:-1], "instead of"),
        (lambda content: content + b"\0", "instead of"),
        (lambda content: content[:10], "unpack requires"),
        (lambda content: b"\0\0\x08\x01" + content[4:], "begins with 00000801"),
        (lambda content: gzip.compress(content)[:-20], "ended before"),
        (lambda content: b"\x1f\x8b" + content, "compression method"),
        (lambda content: b"", "unpack requires"),
    ],
    ids=["short", "long", "no-header", "labels", "cut-gzip", "no-gzip", "empty"],
)
def test_a_broken_file_is_named_with_what_to_do(tmp_path, damage, reason):
    path = tmp_path / "digits"
    path.write_bytes(damage(idx(some_digits(2, seed=0))))
    with pytest.raises(DataError, match=rf"digits must be a whole file.*{reason}.*get it again"):
        read_idx(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match="nothing must be a whole file of images in IDX format"):
        read_idx(tmp_path / "nothing")


def test_a_size_is_positive():
    with pytest.raises(SettingError, match="size must be a positive number, got 0"):
        Mnist(size=0)
