"""Ray as the engine: the files of one process."""

import hashlib
import os
import signal
from types import SimpleNamespace

import pytest

from convcnp.errors import ProcessError
from convcnp.scale.job import predict_files
from convcnp.scale.on_ray import _given_out, connect, on_ray
from lakes import asked, some_series, write_lake


class Remote:
    """An actor whose calls are done at once, the last first."""

    def __init__(self):
        self.call = self.process = self
        self.called = []

    def remote(self, *asked):
        self.called += asked[1:]
        return asked or (id(self),)


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


def test_an_engine_makes_new_actors_for_another_job(monkeypatch, unchecked):
    made = []

    class Cluster(Ray):
        exceptions = SimpleNamespace(RayError=ZeroDivisionError)

        @staticmethod
        def remote(**options):
            return lambda kind: SimpleNamespace(remote=lambda job: made.append(job) or Remote())

    monkeypatch.setattr("convcnp.scale.on_ray.connect", lambda workers, address: Cluster)
    engine = on_ray(2)
    for job in ("first", "first", "second"):
        assert dict(engine(job, "sort", [7])) == {7: {"done": ("sort", 7)}}
    assert made == ["first", "first", "second", "second"]


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1"])
def test_a_cluster_that_does_not_answer_is_named_at_once(address):
    needs_ray()
    with pytest.raises(ProcessError, match=rf"Expected a Ray cluster at {address}.*refused"):
        connect(address=address)


def needs_ray():
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'convcnp[ray]'")


def hashes(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).digest() for path in folder.glob("*.pa*")}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_ray_writes_the_files_of_one_process_and_a_killed_actor_is_replaced(ray, tmp_path):
    lake = write_lake(tmp_path / "lake", some_series(100))
    predict_files(str(lake), tmp_path / "one", asked())
    engine, killed = on_ray(2), []

    def kill_once(stage, done, total, summary):
        if stage == "Predicting" and not killed:
            killed.append(ray.get(engine.actors[0].process.remote()))
            os.kill(killed[0], signal.SIGKILL)

    summary = predict_files(str(lake), tmp_path / "ray", asked(), engine=engine, progress=kill_once)
    assert summary.series == 100
    assert ray.get(engine.actors[0].process.remote()) != killed[0]
    assert hashes(tmp_path / "ray") == hashes(tmp_path / "one") != {}
