"""Every number on the screen equals the verb's; what cannot be done is said in a sentence."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.data.schema import Kind
from lacunary.workbench.asking import Asked
from tests.workbench.client import Client, running

HOSTILE = "<img src=x onerror=alert(1)> \"'`&\u202e${x}"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running(tmp_path_factory.mktemp("api") / "space") as found:
        yield found


@pytest.fixture(scope="module")
def votes(client: Client) -> str:
    return str(client.post("/api/tables/shipped", {"name": "house_votes"})["id"])


def keep(client: Client, model: Any, tmp_path: Path, table: str | None = None) -> str:
    """Upload a model; return its key."""
    lac.save(model, tmp_path / "model.json")
    where = "/api/models?name=model.json" + (f"&table={table}" if table else "")
    status, found = client.upload(where, (tmp_path / "model.json").read_bytes())
    assert status == 200, found
    return str(found["id"])


def test_a_table_as_it_is_described(client: Client, votes: str) -> None:
    table, found = lac.house_votes(), client.get(f"/api/tables/{votes}")
    assert (found["rows"], len(found["columns"]), found["holes"]) == (*table.shape, int(table.holes.sum()))
    assert found["complete"] == int((~table.holes.any(axis=1)).sum())
    assert found["pattern_count"] == len(np.unique(table.holes, axis=0))
    assert sum(pattern["rows"] for pattern in found["patterns"]) == len(table)
    assert [column["holes"] for column in found["columns"]] == table.holes.sum(axis=0).tolist()
    missing = np.flatnonzero(table.holes.any(axis=0))
    both = table.holes[:, missing].astype(int)
    assert found["together"] == {"columns": missing.tolist(), "rows": (both.T @ both).tolist()}


def test_rows_of_a_pattern(client: Client, votes: str) -> None:
    table = lac.house_votes()
    wanted = (table.holes == (np.array(table.columns) == "crime")).all(axis=1)
    found = client.get(f"/api/tables/{votes}/rows?missing=crime&count=500")
    assert found["numbers"] == (np.flatnonzero(wanted) + 1).tolist()
    complete = client.get(f"/api/tables/{votes}/rows?complete=true")
    assert complete["total"] == int((~table.holes.any(axis=1)).sum())


def test_doubts_come_with_what_mends_them(client: Client) -> None:
    lines = [
        f"{i},{'-9' if i % 7 == 0 else i * 0.5},{'ab'[i % 2]},{'1,500' if i % 2 else '2,500'}"
        for i in range(40)
    ]
    data = "id;x;g;w\n" + "\n".join(line.replace(",", ";", 3) for line in lines)
    status, found = client.upload("/api/tables?name=doubtful.csv", data.encode())
    assert status == 200
    mends = {key for note in found["notes"] for mend in note["mends"] for key in mend}
    assert {"drop", "decimal"} <= mends  # 1,500 may be a thousand and a half, or one and a half
    assert not any("drop=" in note["text"] for note in found["notes"])  # the button says it
    wanted = {"drop": ["id"], "decimal": ",", "kinds": {"g": "discrete"}, "rename": {"x": "dose"}}
    status, changed = client.ask("PUT", f"/api/tables/{found['id']}", wanted)
    assert status == 200
    assert [(c["name"], c["kind"]) for c in changed["columns"]] == [
        ("dose", "continuous"),
        ("g", "discrete"),
        ("w", "continuous"),
    ]
    assert client.ask("PUT", f"/api/tables/{found['id']}", {"rename": {"x": "g"}})[0] == 422
    assert client.get(f"/api/tables/{found['id']}")["settings"] == wanted  # it stays as it was


def test_states_in_another_order(client: Client) -> None:
    _, found = client.upload(
        "/api/tables?name=sizes.csv", b"size,n\n" + b"small,1\nlarge,2\nmiddle,1\n?,2\n" * 5
    )
    states = {"size": ["small", "middle", "large"], "n": ["2", "1"]}
    status, changed = client.ask("PUT", f"/api/tables/{found['id']}", {"states": states, "ordered": ["size"]})
    assert status == 200, changed
    assert [c["states"] for c in changed["columns"]] == [["small", "middle", "large"], ["2", "1"]]
    assert changed["columns"][0]["counts"] == [5, 5, 5]


def test_a_table_that_cannot_be_read_yet_is_shown_with_its_problems(client: Client) -> None:
    rows = "\n".join(f"name {i},{i % 3}" for i in range(60))
    status, found = client.upload("/api/tables?name=people.csv", f"who,group\n{rows}\n".encode())
    assert status == 200
    assert not found["readable"]
    assert {"drop": ["who"]} in found["problems"][0]["mends"]
    assert client.ask("PUT", f"/api/tables/{found['id']}", {"drop": ["who"]})[1]["readable"]


def test_no_file_of_the_workspace_is_named(client: Client) -> None:
    status, found = client.upload("/api/tables?name=noise.csv", bytes(range(256)) * 20)
    assert status == 422
    assert found["error"].startswith("noise.csv")


def test_a_file_is_read_again_otherwise(client: Client) -> None:
    """What cannot be read, but names what might help, is kept; so is what was read otherwise than meant."""
    status, found = client.upload("/api/tables?name=x.csv", "名,v\n大阪,1.5\n東京,2.5\n".encode("shift-jis"))
    assert status == 200
    assert not found["readable"]
    assert {"encoding": "shift-jis"} in found["problems"][0]["mends"]
    assert found["problems"][0]["text"].startswith("x.csv")  # and not where it lies
    _, found = client.ask("PUT", f"/api/tables/{found['id']}", {"encoding": "shift-jis"})
    assert [column["name"] for column in found["columns"]] == ["名", "v"]
    status, found = client.upload("/api/tables?name=y.csv", b"1,5;'a\n2,5;b\n")
    wanted = {"header": 0, "quote": "", "decimal": ",", "delimiter": ";", "holes": ["b"]}
    _, found = client.ask("PUT", f"/api/tables/{found['id']}", wanted)
    assert [column["name"] for column in found["columns"]] == ["x1", "x2"]
    assert found["columns"][0]["range"] == [1.5, 2.5]
    assert found["columns"][1]["states"] == ["'a"]
    assert found["settings"] == wanted


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.exe", b"a"),
        ("x.csv", b""),
        ("x.csv", b"\0" * 50),
        ("x.csv.gz", b"no gzip"),
        ("x.parquet", b"PAR1"),
        ("", b"a\n1\n"),
    ],
)
def test_files_that_are_no_tables(client: Client, name: str, data: bytes) -> None:
    status, found = client.upload(f"/api/tables?name={name}", data)
    assert status == 422
    assert found["error"]


def test_a_file_that_unpacks_to_too_much_is_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lacunary.workbench.tables.MOST_UNPACKED", 100_000)
    status, found = client.upload(
        "/api/tables?name=bomb.csv.gz", gzip.compress(b"a,b\n" + b"0,0\n" * 100_000)
    )
    assert status == 422
    assert "unpacks to more" in found["error"]


def test_names_are_text_whatever_they_look_like(client: Client) -> None:
    cell = HOSTILE.replace('"', '""')
    data = f'"{cell}",b\n' + f'"{cell}",1\nplain,2\n' * 6
    status, found = client.upload("/api/tables?name=hostile.csv", data.encode())
    assert status == 200, found
    assert found["columns"][0]["name"] == HOSTILE
    assert HOSTILE in found["columns"][0]["states"]


def test_posteriors_equal_the_engine(client: Client, tmp_path: Path) -> None:
    network = lac.alarm()
    key = client.post("/api/models/shipped", {"name": "alarm"})["id"]
    given = {"BP": {"state": 0}, "HR": {"likelihood": [0.2, 1.0, 0.5]}}
    found = client.post(f"/api/models/{key}/ask", {"given": given})
    engine = network.engine(
        {"BP": "LOW", "HR": dict(zip(("LOW", "NORMAL", "HIGH"), (0.2, 1.0, 0.5), strict=True))}
    )
    for name, answer in zip(network.dag.names, found["marginals"], strict=True):
        assert answer["p"] == engine.marginals()[name].probabilities.tolist()
    assert found["log_probability"] == engine.log_probability
    best = client.post(f"/api/models/{key}/explain", {"given": given})["states"]
    assert {n: network.dag.schema[n].states[s["state"]] for n, s in best.items()} == engine.explain()


@pytest.fixture(scope="module")
def mixed() -> lac.Network:
    rng = np.random.default_rng(5)
    k = rng.integers(3, size=120)
    x = k + rng.normal(size=120)
    columns = {"k": [f"s{i}" for i in k], "x": x.tolist(), "y": (2 * x - k + rng.normal(size=120)).tolist()}
    return lac.fit("k -> x; k -> y; x -> y", columns).network


def test_densities_equal_the_query(client: Client, mixed: lac.Network, tmp_path: Path) -> None:
    key = keep(client, mixed, tmp_path)
    found = client.post(f"/api/models/{key}/ask", {"given": {"y": {"value": 1.25}}})["marginals"]
    x = mixed.query("x", given={"y": 1.25})
    assert (found[1]["mean"], found[1]["sd"]) == (float(x.mean), float(x.sd))
    assert found[1]["quantiles"] == [float(x.quantile(p)) for p in (0.05, 0.5, 0.95)]
    assert found[0]["p"] == mixed.query("k", given={"y": 1.25}).probabilities.tolist()


def mixture(mixed: lac.Network) -> lac.Mixture:
    """Return two components over the same variables, and noise."""
    other = lac.fit("x -> y; k;", mixed.sample(80, rng=1)).network
    other = lac.Network.from_tables(lac.dag("x -> y; k;", schema=mixed.dag.schema), other.tables)
    noise = lac.Noise(mixed.dag.schema, np.full(3, -20.0), np.full(3, 20.0))
    return lac.Mixture(np.array([0.5, 0.3, 0.2]), (mixed, other), noise)


def test_a_mixture_answers_as_its_query_does(client: Client, mixed: lac.Network, tmp_path: Path) -> None:
    """The page's own sum over components and noise against the library's; equal to rounding of a few sums."""
    model = mixture(mixed)
    key = keep(client, model, tmp_path)
    given = {"x": {"value": 0.5}}
    found = client.post(f"/api/models/{key}/ask", {"given": given})["marginals"]
    assert found[0]["p"] == pytest.approx(model.weighed({"x": 0.5}).tolist(), abs=1e-12)
    assert found[1]["p"] == pytest.approx(
        model.query("k", given={"x": 0.5}).probabilities.tolist(), abs=1e-12
    )
    y = model.query("y", given={"x": 0.5})
    assert (found[3]["mean"], found[3]["sd"]) == pytest.approx((float(y.mean), float(y.sd)), abs=1e-9)
    alone = client.post(f"/api/models/{key}/ask", {"given": {**given, "component": {"state": 0}}})[
        "marginals"
    ]
    assert alone[1]["p"] == pytest.approx(
        mixed.query("k", given={"x": 0.5}).probabilities.tolist(), abs=1e-12
    )


def test_why_a_row_is_in_its_class(client: Client, votes: str, tmp_path: Path) -> None:
    table = lac.house_votes()
    graph = lac.naive_bayes(table.schema, hidden="bloc", states=2)
    network = lac.random_network(graph, rng=3)
    key = keep(client, network, tmp_path, votes)
    found = client.post(f"/api/models/{key}/row", {"table": votes, "row": 12})
    cells = {n: v for n in table.columns if (v := table[n][11]) is not None}
    assert {n: v for n, v in found["cells"].items() if v is not None} == cells
    whole = network.query("bloc", given=cells).probabilities
    assert found["why"]["p"] == pytest.approx(whole.tolist(), abs=1e-12)
    best, other = found["why"]["best"], found["why"]["other"]
    for cell in found["why"]["cells"]:
        rest = {n: v for n, v in cells.items() if n != cell["name"]}
        without = network.query("bloc", given=rest).probabilities
        odds = np.log(whole[best] / whole[other]) - np.log(without[best] / without[other])
        assert cell["nats"] == pytest.approx(float(odds), abs=1e-9)  # logarithms of numbers near one


def test_rows_that_speak_for_one_model(client: Client, votes: str, tmp_path: Path) -> None:
    table = lac.house_votes()
    graphs = [lac.naive_bayes(table.schema, hidden="bloc", states=k) for k in (2, 3)]
    networks = [lac.random_network(graph, rng=1) for graph in graphs]
    a, b = (keep(client, network, tmp_path, votes) for network in networks)
    found = client.post("/api/versus", {"table": votes, "a": a, "b": b, "count": 5})
    apart = networks[0].log_probability(table) - networks[1].log_probability(table)
    assert [one["row"] for one in found["for_a"]] == (np.argsort(-apart, kind="stable")[:5] + 1).tolist()
    assert found["total"] == pytest.approx(float(apart.sum()), rel=1e-9)
    assert found["for_b"][0]["nats"] == pytest.approx(float(apart.min()), rel=1e-9)


def test_which_finding_moves_most_and_which_tells_most(client: Client) -> None:
    network = lac.asia()
    key = client.post("/api/models/shipped", {"name": "asia"})["id"]
    given = {"smoke": {"state": 0}, "xray": {"state": 0}, "asia": {"state": 1}}
    found = client.post(f"/api/models/{key}/sensitivity", {"given": given, "target": "lung"})["findings"]
    names = {name: network.dag.schema[name].states[one["state"]] for name, one in given.items()}
    whole = network.query("lung", given=names)["yes"]
    for one in found:
        rest = {n: s for n, s in names.items() if n != one["name"]}
        assert one["moves"] == pytest.approx(abs(whole - network.query("lung", given=rest)["yes"]), abs=1e-12)
    assert found[0]["name"] == "xray"
    told = client.post(f"/api/models/{key}/telling", {"given": {}, "target": "lung"})["variables"]
    joint = network.query("lung", "xray").probabilities
    outer = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    expected = float((joint * np.log(joint / outer)).sum())
    assert next(one["nats"] for one in told if one["name"] == "xray") == pytest.approx(expected, abs=1e-12)
    assert next(one["nats"] for one in told if one["name"] == "asia") < 1e-12


def test_what_an_arc_tells(client: Client) -> None:
    """Of a head with one parent it is their mutual information."""
    network = lac.asia()
    key = client.post("/api/models/shipped", {"name": "asia"})["id"]
    arcs = client.get(f"/api/models/{key}/strengths")["arcs"]
    joint = network.query("smoke", "bronc").probabilities
    outer = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    known = next(a["nats"] for a in arcs if (a["tail"], a["head"]) == ("smoke", "bronc"))
    assert known == pytest.approx(float((joint * np.log(joint / outer)).sum()), abs=1e-12)
    assert len(arcs) == len(network.dag.arcs)


def test_tables_with_labels(client: Client) -> None:
    key = client.post("/api/models/shipped", {"name": "asia"})["id"]
    found = client.get(f"/api/models/{key}/family?variable=dysp")
    assert found["rows"] == lac.asia().table("dysp").reshape(-1, 2).tolist()
    assert (found["parents"], found["columns"]) == (list(lac.asia().dag.parents_of("dysp")), ["yes", "no"])


@pytest.mark.parametrize(
    ("name", "columns"),
    [("y", ["intercept", "\N{MULTIPLICATION SIGN} x", "sd"]), ("c", ["rate"]), ("u", ["low", "high"])],
)
def test_parameters_of_numbers_are_called_what_they_are(name: str, columns: list[str]) -> None:
    given: dict[str, Kind] = dict.fromkeys("xycu", "continuous")
    dag = lac.dag("g -> x c u; x -> y", kinds=given, family={"c": "poisson", "u": "uniform"})
    network = lac.random_network(dag, rng=1)
    found = Asked(network).family(name, 0)
    expected = network.table(name).reshape(-1, len(columns)).copy()
    if name == "y":
        expected[:, -1] = np.sqrt(expected[:, -1])  # variances in the table
    assert found["columns"] == columns
    assert found["rows"] == expected.tolist()


@pytest.mark.parametrize("format", ["json", "bif", "xmlbif", "net", "xdsl", "dsc", "dne"])
def test_models_go_out_and_come_in(client: Client, tmp_path: Path, format: str) -> None:
    key = client.post("/api/models/shipped", {"name": "asia"})["id"]
    _, data, _ = client.raw("GET", f"/api/models/{key}/export?format={format}")
    status, again = client.upload(f"/api/models?name=asia.{format}", data)
    assert status == 200
    assert again["arcs"] == client.get(f"/api/models/{key}")["arcs"]


def test_what_cannot_be_is_said(client: Client, votes: str) -> None:
    key = client.post("/api/models/shipped", {"name": "asia"})["id"]
    for method, path, body, status, words in (
        ("POST", f"/api/models/{key}/ask", {"given": {"nobody": {"state": 0}}}, 422, "no variable 'nobody'"),
        ("POST", f"/api/models/{key}/ask", {"given": {"lung": {"state": 7}}}, 422, "has states 0 to 1"),
        (
            "POST",
            f"/api/models/{key}/ask",
            {"given": {"lung": {"likelihood": [0, 0]}}},
            422,
            "above it at least",
        ),
        (
            "POST",
            f"/api/models/{key}/ask",
            {"given": {"either": {"state": 1}, "lung": {"state": 0}}},
            422,
            "probability zero",
        ),
        ("GET", "/api/models/0123456789abcdef", None, 404, "no model"),
        (
            "POST",
            "/api/jobs",
            {"kind": "classes", "table": votes, "from": 3, "to": 2},
            422,
            "below the first",
        ),
        (
            "POST",
            "/api/jobs",
            {"kind": "fit", "table": votes, "arcs": [["crime", "x"]]},
            422,
            "no variable 'x'",
        ),
        (
            "POST",
            "/api/jobs",
            {"kind": "compare", "table": votes, "models": [key]},
            422,
            "not learned from this",
        ),
        ("POST", f"/api/models/{key}/row", {"table": votes, "row": 1}, 422, "not a column"),
    ):
        found = client.ask(method, path, body)
        assert (found[0], words in found[1]["error"]) == (status, True), found


def test_the_interface_describes_itself(client: Client) -> None:
    described = client.get("/api/openapi.json")
    assert {"/api/tables", "/api/jobs", "/api/models/{key}/ask", "/api/events"} <= set(described["paths"])
    assert all(one.get("summary") for path in described["paths"].values() for one in path.values())
    json.dumps(described)
