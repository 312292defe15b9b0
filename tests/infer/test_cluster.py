"""Rows on a Dask cluster: the workers' number and deaths, and the division into partitions, change no bit."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.data import recipe
from lacunary.infer.cluster import OnCluster, agreed, connected, versions
from lacunary.structure.networks import Networks
from lacunary.structure.shares import everything
from tests.campaign.kills import cluster_of

distributed = pytest.importorskip("distributed")

STOP = lac.Stop(iterations=8)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A cluster of two processes on this machine; what it leaves in the environment is taken back."""
    before = dict(os.environ)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
    for name in set(os.environ) - set(before):
        del os.environ[name]
    os.environ.update(before)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> tuple[lac.Network, Path]:
    network = lac.random_network(lac.random_dag(10, 0.2, 2, rng=1), rng=2)
    table = lac.make_holes(network.sample(500, rng=3), 0.2, rng=4)
    folder = tmp_path_factory.mktemp("rows")
    table.take(slice(0, 130)).to_frame("polars").write_parquet(folder / "a.parquet")
    table.take(slice(130, None)).to_frame("polars").write_parquet(folder / "b.parquet")
    return network, folder


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "MOST", 100)


def fitted(network: lac.Network, source: Any) -> bytes:
    found = lac.fit(network.dag, source.align(network.dag.schema), starts=2, rng=0, stop=STOP)
    return found.network.theta.tobytes()


@pytest.mark.filterwarnings("ignore")  # Dask says at length that a worker is gone
def test_a_worker_that_is_killed_changes_no_bit(client: Any, rows: tuple[lac.Network, Path]) -> None:
    network, folder = rows
    wanted = fitted(network, lac.scan(folder))
    scanned = lac.scan(folder, client=client)
    assert len(scanned.every) == 5
    assert fitted(network, scanned) == wanted
    victim = next(iter(client.run(os.getpid).values()))
    threading.Timer(0.05, os.kill, (victim, signal.SIGKILL)).start()
    assert fitted(network, scanned) == wanted


@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_stands_still_and_one_that_comes_late_change_no_bit(
    client: Any, rows: tuple[lac.Network, Path]
) -> None:
    network, folder = rows
    wanted, slow = fitted(network, lac.scan(folder)), next(iter(client.run(os.getpid).values()))
    later = [(0.05, signal.SIGSTOP), (0.5, signal.SIGCONT)]
    timers = [threading.Timer(seconds, os.kill, (slow, what)) for seconds, what in later]
    timers.append(threading.Timer(0.05, client.cluster.scale, (3,)))
    for timer in timers:
        timer.start()
    source = lac.scan(folder, client=client)
    while any(timer.is_alive() for timer in timers) or len(client.nthreads()) < 3:
        assert fitted(network, source) == wanted
    assert fitted(network, source) == wanted
    client.cluster.scale(2)


@pytest.mark.filterwarnings("ignore")
def test_a_fit_goes_on_from_its_checkpoint_where_the_scheduler_was_killed(
    tmp_path: Path, rows: tuple[lac.Network, Path]
) -> None:
    network, folder = rows
    fit = partial(lac.fit, network.dag, stop=STOP, rng=0)
    kept = tmp_path / "trail.json"
    keep = lac.Checkpoint(kept, seconds=0)
    with cluster_of(tmp_path, 1) as (client, scheduler):

        def watch(progress: Any) -> None:
            keep(progress)
            if progress.iteration == 3:
                scheduler.kill()

        source = lac.scan(folder, client=client, schema=network.dag.schema)
        with pytest.raises(lac.SourceError, match="go on from the checkpoint"):
            fit(source, watch=watch)
    here = lac.scan(folder, schema=network.dag.schema)
    resumed = fit(here, initial=lac.load(kept))
    assert resumed.network.theta.tobytes() == fit(here).network.theta.tobytes()


@pytest.mark.filterwarnings("ignore")
def test_partitions_of_a_frame_change_no_bit(client: Any, rows: tuple[lac.Network, Path]) -> None:
    frames = pytest.importorskip("dask.dataframe", exc_type=ImportError)
    network, folder = rows
    wanted = fitted(network, lac.scan(folder))
    table = lac.scan(folder).whole("a test")
    frame = frames.from_pandas(table.to_frame("pandas"), npartitions=3)
    assert fitted(network, lac.scan(frame, client=client)) == wanted
    assert fitted(network, lac.scan(frame)) == wanted


@pytest.mark.filterwarnings("ignore")
def test_searches_on_a_cluster(client: Any, tmp_path: Path) -> None:
    network = lac.random_network(lac.random_dag(4, 0.5, 2, rng=1), rng=2)
    network.sample(250, rng=3).to_frame("polars").write_parquet(tmp_path / "a.parquet")
    there, here = (lac.scan(tmp_path, client=c, schema=network.dag.schema) for c in (client, None))
    found = [lac.search(source, method="greedy") for source in (there, here)]
    assert found[0].score == found[1].score
    assert str(found[0].dag) == str(found[1].dag)


@pytest.mark.filterwarnings("ignore")
def test_mixtures_and_structural_em_on_a_cluster(client: Any, tmp_path: Path) -> None:
    """With holes: responsibilities, islands and the weighing of graphs go through the workers."""
    network = lac.random_network(lac.random_dag(3, 0.5, 2, rng=1), rng=2)
    lac.make_holes(network.sample(150, rng=3), 0.2, rng=4).to_frame("polars").write_parquet(
        tmp_path / "a.parquet"
    )
    there, here = (lac.scan(tmp_path, client=c, schema=network.dag.schema) for c in (client, None))
    once = lac.Stop(iterations=2)
    mixtures = [
        lac.fit_mixture(source, components=1, noise=True, structure="empty", stop=once).mixture
        for source in (there, here)
    ]
    assert mixtures[0].weights.tobytes() == mixtures[1].weights.tobytes()
    assert mixtures[0].components[0].theta.tobytes() == mixtures[1].components[0].theta.tobytes()
    networks = [Networks(source) for source in (there, here)]
    scores = []
    for each in networks:
        structure = ((), (), ())
        [expected] = each.statistics(
            each.draw([structure], 10.0, np.random.default_rng(0)), everything(each.row_weights)
        )
        scores.append([expected.score.toggled(child, ()).tobytes() for child in range(3)])
    assert scores[0] == scores[1]


@pytest.mark.filterwarnings("ignore")
def test_files_that_are_damaged_or_vanish_are_named_by_workers(client: Any, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    values = np.random.default_rng(0).normal(size=(400, 2))
    lac.read(values).to_frame("polars").write_parquet(path, row_group_size=100)
    file = recipe.look_through(str(path), ())
    make = partial(recipe.raw, names=file.names)
    column = parquet.ParquetFile(path).metadata.row_group(2).column(0)
    broken, times = bytearray(path.read_bytes()), path.stat()
    start = column.dictionary_page_offset or column.data_page_offset
    broken[start : start + column.total_compressed_size] = bytes(column.total_compressed_size)
    path.write_bytes(bytes(broken))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(lac.FileError, match=r"a\.parquet, rows 201 to 300, in row group 2"):
        OnCluster.made(client, make, recipe.parts_of([file])).each(len)
    path.unlink()
    with pytest.raises(lac.FileError, match=r"a\.parquet cannot be read: No such file"):
        OnCluster.made(client, make, recipe.parts_of([file])).each(len)


@pytest.mark.filterwarnings("ignore")
def test_what_is_wrong_on_a_worker_is_said_by_name(client: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = lac.asia().sample(150, rng=0)
    table.to_frame("polars").write_parquet(path)
    short = [lac.Variable(v.name, v.states[: 1 + (v.name != "smoke")]) for v in table.schema]
    with pytest.raises(lac.StateError, match=r"a\.parquet, rows \d+ to \d+: .*none of the declared"):
        lac.scan(path, client=client, schema=lac.Schema(tuple(short))).fold(len)


def test_workers_of_another_version_and_no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    class Cluster:
        """What of a client is asked."""

        scheduler = type("Scheduler", (), {"address": "tcp://here:1"})

        def __init__(self, told: Any) -> None:
            self.told = told

        def wait_for_workers(self, many: int, timeout: float) -> None:
            if not self.told:
                raise TimeoutError

        def run(self, function: Any, on_error: str) -> Any:
            assert on_error == "return"
            return self.told

    mine = versions()
    agreed(Cluster({"tcp://a": mine, "tcp://b": ConnectionResetError("killed while it is asked")}))
    for told, match in (
        ({"tcp://a": mine, "tcp://b": {**mine, "NumPy": "1.0"}}, r"worker at tcp://b has NumPy 1\.0"),
        ({}, "no workers; start some with: dask worker tcp://here:1"),
        ({"tcp://a": ModuleNotFoundError("No module named 'lacunary'")}, "install lacunary on all workers"),
    ):
        with pytest.raises(lac.SourceError, match=match):
            agreed(Cluster(told))


@pytest.mark.filterwarnings("ignore")
def test_nobody_waits_for_workers_that_do_not_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from lacunary.infer import cluster as adapter

    monkeypatch.setattr(adapter, "LOOK", 0.2)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        parts = OnCluster.made(client, str, [1, 2])
        with pytest.raises(lac.SourceError, match=r"no workers any more; start some .* from the checkpoint"):
            parts.each(len)
        cluster.scale(1)
        assert parts.each(_slowly) == ["1", "2"]


def _slowly(part: str) -> str:
    sleep(0.3)  # longer than the first look
    return part


def test_an_address_nobody_answers() -> None:
    with pytest.raises(lac.SourceError, match="no Dask scheduler answers at tcp://"):
        connected("tcp://127.0.0.1:9", wait=1.0)
