"""Ray as the engine: the files of one process."""

import hashlib

import pytest

from convcnp.errors import ProcessError
from convcnp.scale.job import predict_files
from convcnp.scale.on_ray import _given_out, connect, on_ray
from lakes import asked, some_series, write_lake


class Remote:
    """An actor whose calls are done at once, the last first."""

    def __init__(self):
        self.call = self
        self.called = []

    def remote(self, method, number):
        self.called.append(number)
        return (method, number)


class Ray:
    @staticmethod
    def wait(waiting):
        return waiting[-1:], waiting[:-1]

    @staticmethod
    def get(reference):
        return {"done": reference}


def test_every_number_is_given_to_one_actor():
    actors = [Remote(), Remote()]
    found = dict(_given_out(Ray, actors, "sort", [1, 2, 3, 4, 5]))
    assert found == {i: {"done": ("sort", i)} for i in (1, 2, 3, 4, 5)}
    assert sorted(actors[0].called + actors[1].called) == [1, 2, 3, 4, 5]


@pytest.fixture(scope="module")
def ray():
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'convcnp[ray]'")
    yield connect(2)
    import ray

    ray.shutdown()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_ray_writes_the_files_of_one_process(ray, tmp_path):
    lake = write_lake(tmp_path / "lake", some_series(200))
    folders = [tmp_path / "one", tmp_path / "ray"]
    predict_files(str(lake), folders[0], asked())
    predict_files(str(lake), folders[1], asked(), engine=on_ray(2))
    one, other = (
        {path.name: hashlib.sha256(path.read_bytes()).digest() for path in folder.glob("*.parquet")}
        for folder in folders
    )
    assert one == other != {}


@pytest.mark.slow
def test_a_cluster_that_does_not_answer_is_named():
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'convcnp[ray]'")
    with pytest.raises(ProcessError, match=r"Expected a Ray cluster at 127\.0\.0\.1:1"):
        connect(address="127.0.0.1:1")
