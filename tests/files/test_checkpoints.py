"""Checkpoints cannot hurt: another run is refused, a damaged file is named, a full disk costs no result."""

from __future__ import annotations

import errno
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.cli.checkpoints import keep_result
from lacunary.data.fingerprint import digest, fingerprint, rows_digest
from lacunary.errors import FileError, LacunaryError, ParameterError
from lacunary.files import whole
from lacunary.files.native import _seal
from tests.mixture.small import two_groups

Run = Callable[..., Any]


def holed(seed: int = 0, rows: int = 120) -> lac.Table:
    table = lac.asia().sample(rows, rng=seed).select(["smoke", "lung", "bronc", "dysp"])
    return lac.make_holes(table, 0.1, rng=seed)


def complete(seed: int = 0, rows: int = 150) -> lac.Table:
    return lac.asia().sample(rows, rng=seed).select(["smoke", "lung", "bronc", "dysp", "either"])


def fitted(table: lac.Table, watch: Any = None, trail: Any = None, **how: Any) -> lac.Fit:
    dag = lac.naive_bayes(table.schema, hidden="h", states=2)
    begin = {"starts": how.pop("starts", 3), "rng": 1} if trail is None else {"initial": trail}
    return lac.fit(dag, table, watch=watch, **begin, **how)


def searched(table: lac.Table, watch: Any = None, trail: Any = None, **how: Any) -> lac.StructuralResult:
    return lac.search(table, watch=watch, start=trail, **how)


def mixed(table: lac.Table, watch: Any = None, trail: Any = None, **how: Any) -> lac.MixtureFit:
    return lac.fit_mixture(table, watch=watch, resume=trail, **{"components": [1, 2], **how})


def classed(table: lac.Table, watch: Any = None, trail: Any = None, **how: Any) -> lac.Classes:
    return lac.classes(table, [1, 2, 3], starts=2, watch=watch, resume=trail, **how)


RUNS: dict[str, tuple[Run, Callable[[int], lac.Table]]] = {
    "fit": (fitted, holed),
    "search": (searched, complete),
    "structural EM": (searched, holed),
    "mixture": (mixed, holed),
    "classes": (classed, holed),
}


class Keep:
    """A watch that keeps the trail at every call, as a file would."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, *told: Any) -> None:
        from lacunary.files.native import write

        self.texts.append(write(told[-1].trail()))


@pytest.fixture(scope="module")
def trails() -> dict[str, list[str]]:
    out = {}
    for name, (run, rows) in RUNS.items():
        keep = Keep()
        run(rows(0), watch=keep)
        out[name] = keep.texts
    return out


def parsed(text: str) -> Any:
    from lacunary.files.native import parse

    return parse(text)


@pytest.mark.parametrize("name", RUNS)
def test_other_rows_are_refused_by_name(name: str, trails: dict[str, list[str]]) -> None:
    run, rows = RUNS[name]
    for text in (trails[name][0], trails[name][-1]):
        with pytest.raises(ParameterError, match=r"rows were .*, and are"):
            run(rows(1), trail=parsed(text))
        table = rows(0)
        weighed = lac.Table(table.schema, table.codes, weights=np.linspace(0.5, 1.5, len(table)))
        with pytest.raises(ParameterError, match="rows were"):
            run(weighed, trail=parsed(text))


@pytest.mark.parametrize(
    ("name", "how", "message"),
    [
        ("fit", {"method": "ml"}, "method was map, and is ml now"),
        ("fit", {"prior": lac.bdeu(2)}, r"prior was Dirichlet\(alpha=1.0\), and is BDeu\(ess=2\) now"),
        ("fit", {"basis": "probability"}, "basis was softmax"),
        ("fit", {"accelerate": True}, "accelerate was False"),
        ("fit", {"stop": lac.Stop(relative=1e-3)}, "stop was"),
        ("fit", {"fixed": {"h": [0.5, 0.5]}}, "fixed was the default"),
        ("search", {"score": "bic"}, "score was bd, and is bic"),
        ("search", {"prior": lac.bdeu(7)}, r"prior was BDeu\(ess=1.0\), and is BDeu\(ess=7\)"),
        ("search", {"max_parents": 2}, "max_parents was"),
        ("search", {"forbidden": "smoke -> lung"}, "arcs required and forbidden was"),
        ("structural EM", {"score": "bic"}, "score was bd, and is bic"),
        ("structural EM", {"prior": lac.bdeu(7)}, "prior was"),
        ("structural EM", {"stop": lac.Stop(relative=1e-3)}, "stop was"),
        ("mixture", {"prior": lac.bdeu(7)}, "prior was the default"),
        ("classes", {"hidden": "kind"}, "hidden was class, and is kind now"),
        ("classes", {"rng": 3}, "rng was 0, and is 3 now"),
    ],
)
def test_other_rules_are_refused_by_name(
    name: str, how: dict[str, Any], message: str, trails: dict[str, list[str]]
) -> None:
    run, rows = RUNS[name]
    with pytest.raises(ParameterError, match=message):
        run(rows(0), trail=parsed(trails[name][0]), **how)


def test_another_version_is_refused(trails: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lac, "__version__", "99.0")
    for name, (run, rows) in RUNS.items():
        with pytest.raises(ParameterError, match=r"lacunary was .*, and is 99\.0 now"):
            run(rows(0), trail=parsed(trails[name][0]))


def same(one: Any, two: Any) -> None:
    """The same result, bit for bit."""
    if isinstance(one, lac.Fit):
        assert [s.trace for s in one.starts] == [s.trace for s in two.starts]
        assert [s.network.theta.tobytes() for s in one.starts] == [
            s.network.theta.tobytes() for s in two.starts
        ]
        assert [s.iterations for s in one.starts] == [s.iterations for s in two.starts]
        assert one.belief.alpha.tobytes() == two.belief.alpha.tobytes()
        assert (one.objective, one.converged) == (two.objective, two.converged)
    elif isinstance(one, lac.StructuralResult):
        assert (one.dag, one.score, one.path, one.strengths) == (two.dag, two.score, two.path, two.strengths)
        assert one.network.theta.tobytes() == two.network.theta.tobytes()
    elif isinstance(one, lac.MixtureFit):
        assert [t.estimate for t in one.path] == [t.estimate for t in two.path]
    else:
        for k in one.fits:
            same(one.fits[k], two.fits[k])
        assert [c.log_evidence for c in one.candidates] == [c.log_evidence for c in two.candidates]
        assert one.posterior.tobytes() == two.posterior.tobytes()


@pytest.mark.parametrize("name", RUNS)
def test_going_on_ends_where_it_would_have_ended(name: str, trails: dict[str, list[str]]) -> None:
    run, rows = RUNS[name]
    expected = run(rows(0))
    texts = trails[name]
    for text in (texts[0], texts[len(texts) // 2], texts[-1]):
        same(run(rows(0), trail=parsed(text)), expected)


@pytest.mark.parametrize(
    "how",
    [
        {"accelerate": True},
        {"method": "variational"},
        {"method": "variational", "accelerate": True},
        {"starts": lac.Tournament(5)},
        {"starts": lac.Tournament(5), "accelerate": True},
        {"method": "ml", "starts": lac.Around(2)},
        {"stop": lac.Stop(share=1e-4, iterations=9)},
    ],
    ids=str,
)
def test_a_fit_goes_on_bit_for_bit(how: dict[str, Any]) -> None:
    for table in (holed(), two_groups(40, holes=0.1)):
        keep = Keep()
        expected = fitted(lac.read(table), watch=keep, **how)
        rest = {name: value for name, value in how.items() if name != "starts"}
        for text in keep.texts[:: max(len(keep.texts) // 6, 1)]:
            same(fitted(lac.read(table), trail=parsed(text), **rest), expected)


def test_a_source_in_parts_has_the_fingerprint_of_its_table() -> None:
    table = lac.read(two_groups(40, holes=0.1))
    parts = lac.Partitioned(
        [table.take(slice(0, 13)), table.take(slice(13, 50)), table.take(slice(50, None))]
    )
    turned = table.take(np.random.default_rng(0).permutation(len(table)))
    assert rows_digest(parts) == rows_digest(table) == rows_digest(turned)
    keep = Keep()
    expected = lac.fit_mixture(parts, components=[1], watch=keep)
    same(lac.fit_mixture(parts, components=[1], resume=parsed(keep.texts[0])), expected)


def test_every_cell_counts() -> None:
    """One cell, one weight, or two cells of a row or column exchanged: another fingerprint."""
    columns = {"a": ["x", "y", "x", "y"], "b": ["y", "y", "x", None], "c": [0.0, 1.0, 2.0, np.nan]}
    table = lac.read(columns, kinds={"c": "continuous"})
    seen = {rows_digest(table)}
    for row in range(4):
        for column in range(2):
            codes = table.codes.copy()
            codes[row, column] = (codes[row, column] + 2) % 3 - 1
            seen.add(rows_digest(lac.Table(table.schema, codes, table.reals.copy(), table.weights)))
        reals, weights = table.reals.copy(), np.ones(4)
        reals[row, 2] = 5.0
        weights[row] = 1.0 + 1e-12
        seen.add(rows_digest(lac.Table(table.schema, table.codes, reals, table.weights)))
        seen.add(rows_digest(lac.Table(table.schema, table.codes, table.reals, weights)))
    swapped = table.codes.copy()
    swapped[0, :2] = swapped[0, 1::-1]
    seen.add(rows_digest(lac.Table(table.schema, swapped, table.reals, table.weights)))
    assert len(seen) == 1 + 4 * 4 + 1
    minus = table.reals.copy()
    minus[0, 2] = -0.0
    assert rows_digest(lac.Table(table.schema, table.codes, minus, table.weights)) in seen


def test_what_is_remembered_is_no_part_of_a_thing() -> None:
    network = fitted(holed()).network
    prior = lac.prior_network(network, 10.0)
    before = digest(prior)
    prior(network.dag)
    assert digest(prior) == before != digest(lac.prior_network(network, 11.0))
    assert digest(lambda: 1) != digest(lambda: 2)
    holding: list[Any] = []
    holding.append(holding)
    assert digest(holding) == digest(holding)
    assert fingerprint(holed())["rows"].startswith("120 of weight 120 ")


# Damage


def places(thing: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = thing.items() if isinstance(thing, dict) else enumerate(thing) if isinstance(thing, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    7,
    2**70,
    1e308,
    -0.5,
    "",
    "x",
    [],
    [[]],
    {},
    {"a": 1},
    [None],
    10**400,
)


def altered(document: Any, rng: np.random.Generator) -> Any:
    """A document with one value made another, taken out, or put in twice."""
    document = json.loads(json.dumps(document))
    inside = [p for p in places(document) if p[0] not in ("seal", "lacunary", "version")]
    path = inside[int(rng.integers(len(inside)))]
    at = document
    for key in path[:-1]:
        at = at[key]
    if rng.random() < 0.2:
        del at[path[-1]]
    elif isinstance(at, list) and rng.random() < 0.2:
        at.insert(path[-1], at[path[-1]])
    else:
        at[path[-1]] = ODD[int(rng.integers(len(ODD)))]
    return document


@pytest.mark.parametrize("name", RUNS)
def test_an_altered_checkpoint_is_refused_by_name(
    name: str, trails: dict[str, list[str]], tmp_path: Path
) -> None:
    """Whatever was changed. With a seal that fits, it is refused or is a run, and never a raw error."""
    run, rows = RUNS[name]
    rng, document, path = np.random.default_rng(5), json.loads(trails[name][0]), tmp_path / "c.json"
    for _ in range(40):
        changed = altered(document, rng)
        path.write_text(json.dumps(changed))
        if json.dumps(changed) != json.dumps(document):
            with pytest.raises(FileError, match=r"c\.json"):
                lac.load(path)
        changed["seal"] = _seal(changed)
        path.write_text(json.dumps(changed))
        try:
            run(rows(0), trail=lac.load(path), watch=lambda *told: True)
        except (LacunaryError, KeyboardInterrupt):
            continue


@pytest.mark.parametrize("name", RUNS)
def test_a_truncated_checkpoint_is_refused_by_name(
    name: str, trails: dict[str, list[str]], tmp_path: Path
) -> None:
    text, path, packed = trails[name][-1].encode(), tmp_path / "c.json", tmp_path / "c.json.gz"
    for cut in np.linspace(0, len(text) - 2, 12).astype(int):
        path.write_bytes(text[:cut])
        packed.write_bytes(gzip.compress(text)[: max(int(cut) * 20 // len(text), 1)])
        for damaged in (path, packed):
            with pytest.raises(FileError, match=damaged.name):
                lac.load(damaged)
    # A letter: a digit behind the last that a double holds may be another, and nothing is changed.
    at = next(k for k in range(len(text) // 2, len(text)) if text[k : k + 1].isalpha())
    path.write_bytes(text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :])
    with pytest.raises(FileError, match=r"c\.json"):
        lac.load(path)


def test_a_checkpoint_of_an_earlier_form_is_refused_by_name(trails: dict[str, list[str]]) -> None:
    old = json.loads(trails["search"][0]) | {"version": 1}
    with pytest.raises(FileError, match="this reads version 2 of a trail, not 1"):
        parsed(json.dumps(old))


# Places that cannot be written to


def test_a_place_that_can_never_work_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "file").write_text("")
    for path, why in [
        ("nowhere/c.json", "No such file"),
        ("folder.json", "not a regular file"),
        ("file/c.json", "Not a directory"),
        ("c.bif", "suffix must be one of .json"),
        ("c.txt", "suffix"),
        ("a\0b.json", "null"),
        ("x" * 300 + ".json", "name too long"),
    ]:
        with pytest.raises(FileError, match=why):
            lac.Checkpoint(tmp_path / path)
    lac.Checkpoint(tmp_path / "good.json")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder.json"]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> dict[str, OSError]:
    """Writings fail at the steps that are put in here."""
    faults: dict[str, OSError] = {}

    def before(step: str, target: Path) -> None:
        if step in faults:
            raise faults[step]

    monkeypatch.setattr(whole, "before", before)
    return faults


@pytest.mark.parametrize(
    ("name", "step"), [*((name, "write") for name in RUNS), *(("fit", step) for step in whole.STEPS)]
)
def test_a_full_disk_costs_no_result(
    name: str, step: str, failing: dict[str, OSError], tmp_path: Path
) -> None:
    run, rows = RUNS[name]
    keep = lac.Checkpoint(tmp_path / "c.json", seconds=0.0)
    calls = 0

    def watch(*told: Any) -> None:
        nonlocal calls
        calls += 1
        failing.clear()
        if calls in (2, 3):  # the disk is full for a while
            failing[step] = OSError(errno.ENOSPC, "No space left on device")
        keep(*told)

    with pytest.warns(
        UserWarning, match=r"checkpoint was not written: .*No space left.* tried again"
    ) as said:
        found = run(rows(0), watch=watch)
    assert len(said) == 1
    same(found, run(rows(0)))
    assert keep.writings == calls - min(calls - 1, 2)
    assert [p.name for p in tmp_path.iterdir()] == ["c.json"]
    assert keep.problem is None or calls < 4


def test_a_folder_that_vanishes_costs_no_result_and_may_come_back(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    keep = lac.Checkpoint(folder / "c.json", seconds=0.0)

    def watch(told: lac.Progress) -> None:
        if told.iteration == 2:
            shutil.rmtree(folder)
        if told.iteration == 5:
            folder.mkdir()
        keep(told)

    with pytest.warns(UserWarning, match="what was written before is there") as said:
        found = fitted(holed(), watch=watch)
    assert len(said) == 1
    same(found, fitted(holed()))
    assert keep.problem is None
    same(fitted(holed(), trail=lac.load(folder / "c.json")), found)


def command(*arguments: str, prefix: str = "", **options: Any) -> subprocess.Popen[str]:
    begin = f"{prefix}\nimport sys\nsys.argv = ['lacunary', *{arguments!r}]\n"
    code = begin + "from lacunary.cli import main\nmain()"
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


SOON = "import functools, lacunary as lac\nlac.Checkpoint = functools.partial(lac.Checkpoint, seconds=0.0)"
LIMITED = SOON + "\nimport resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
VOTES = ("fit", "house_votes", "--hidden", "b=2", "--starts", "2")


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_the_result_is_written_where_a_checkpoint_is_too_large_for_the_disk(tmp_path: Path) -> None:
    """No file may be larger than 9 kB: a fit's network is smaller, its climbs to the last bit are not."""
    limit = LIMITED + "resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))"
    ran = command(*VOTES, "--checkpoint", "c.json", "--out", "f.bif", prefix=limit, cwd=tmp_path)
    out, err = ran.communicate(timeout=120)
    assert ran.returncode == 0, err
    assert "written: f.bif" in out
    assert err.count("the checkpoint was not written") == 1
    assert isinstance(lac.load(tmp_path / "f.bif"), lac.Network)
    assert [p.name for p in tmp_path.iterdir()] == ["f.bif"]


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_a_result_that_cannot_be_written_is_kept_elsewhere(tmp_path: Path) -> None:
    """The folder of --out vanishes during the work."""
    gone, rescue = tmp_path / "gone", tmp_path / "tmp"
    gone.mkdir()
    rescue.mkdir()
    away = "import shutil, lacunary as lac\nold = lac.fit\n"
    away += (
        f"def fit(*a, **k):\n    found = old(*a, **k)\n    shutil.rmtree({str(gone)!r})\n    return found\n"
    )
    away += "lac.fit = fit"
    ran = command(
        *VOTES, "--out", str(gone / "f.json"), prefix=away, env={**os.environ, "TMPDIR": str(rescue)}
    )
    _, err = ran.communicate(timeout=120)
    assert ran.returncode == 1
    kept = err.split("the result was kept in ")[1].split("\n")[0]
    assert isinstance(lac.load(kept), lac.Fit)
    assert "cannot write" in err


def test_a_result_for_which_there_is_no_room_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is told is the file that was asked for, and no empty folder stays behind."""

    def full(step: str, target: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(whole, "before", full)
    for place in (tmp_path, tmp_path / "gone"):
        monkeypatch.setattr(tempfile, "tempdir", str(place))
        with pytest.raises(FileError, match=r"cannot write .*asked\.json: No space left"):
            keep_result(lac.asia(), str(tmp_path / "asked.json"))
    assert not list(tmp_path.iterdir())
    assert "kept" not in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(signal, "SIGTERM"), reason="signals of POSIX")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_to_end_keeps_the_best_so_far(name: str, tmp_path: Path) -> None:
    # Under nohup SIGHUP is ignored, and who starts so means it; here it is not meant.
    slow = SOON + f"\nimport signal, time\nsignal.signal(signal.{name}, signal.SIG_DFL)\nold = lac.fit\n"
    slow += (
        "def fit(*a, watch, **k):\n    return old(*a, watch=lambda p: (watch(p), time.sleep(0.02))[0], **k)\n"
    )
    slow += "lac.fit = fit"
    ran = command(*VOTES, "--checkpoint", "c.json", "--out", "f.json", prefix=slow, cwd=tmp_path)
    deadline = time.monotonic() + 60
    while not (tmp_path / "c.json").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    ran.send_signal(getattr(signal, name))
    _, err = ran.communicate(timeout=60)
    assert ran.returncode == 130, err
    assert "--resume c.json goes on" in err
    assert lac.load(tmp_path / "f.json").interrupted
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c.json", "f.json"]
    again = lac.fit(
        lac.load(tmp_path / "c.json").dag, lac.house_votes(), initial=lac.load(tmp_path / "c.json")
    )
    assert again.converged


# Whole files


KILLED = """
import os, signal, sys
from pathlib import Path
from lacunary.files import whole
def before(step, target):
    if step == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)
whole.before = before
whole.write_whole(sys.argv[1], "new")
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="only POSIX kills so")
@pytest.mark.parametrize("step", ["open", "write", "replace"])
def test_what_a_killed_writer_left_is_taken_away(step: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("old")
    assert subprocess.run([sys.executable, "-c", KILLED, str(path), step]).returncode == -signal.SIGKILL
    assert path.read_text() == "old"
    left = sorted(p.name for p in tmp_path.iterdir())
    assert left == (["x.json"] if step == "open" else [".x.json.part", "x.json"])
    whole.write_whole(path, "newer")
    assert path.read_text() == "newer"
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


@pytest.mark.skipif(sys.platform == "win32", reason="only where files can be locked")
def test_two_writers_do_not_disturb_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One writes the same file while another is in the middle of it: both end, and the later one stands."""
    path = tmp_path / "x.json"
    inner: list[str] = []

    def before(step: str, target: Path) -> None:
        if step == "replace" and not inner:
            inner.append(step)
            whole.write_whole(path, "second" * 1000)
            assert path.read_text() == "second" * 1000

    monkeypatch.setattr(whole, "before", before)
    whole.write_whole(path, "first" * 1000)
    assert path.read_text() == "first" * 1000
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


def test_folders_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[bool] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(os.path.isdir(f"/proc/self/fd/{descriptor}"))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    whole.write_whole(tmp_path / "x", b"1")
    assert len(synced) == 2
    if sys.platform == "linux":
        assert synced == [False, True]  # the file, then the folder that names it


def test_a_number_beyond_all_doubles_in_a_checkpoint_is_damage(
    trails: dict[str, list[str]], tmp_path: Path
) -> None:
    """JSON may say 1e999, which Python reads as infinity and no seal can be made of."""
    name, path = next(iter(RUNS)), tmp_path / "c.json"
    text = json.dumps(json.loads(trails[name][0]) | {"more": 12345})
    path.write_text(text.replace("12345", "1e999"))
    with pytest.raises(FileError, match=r"c\.json.*damaged"):
        lac.load(path)
