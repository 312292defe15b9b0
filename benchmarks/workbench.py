"""The workbench under load: pictures for the docs, 100 000 fuzzed requests, and how soon a click is painted.

python -m benchmarks.workbench pictures docs/pictures
python -m benchmarks.workbench fuzz 100000
python -m benchmarks.workbench speed
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np
from tests.workbench.browser import Watched, browser
from tests.workbench.client import Client, running
from tests.workbench.fuzz import campaign

import lacunary as lac

CLICK = """async (name) => {
  const state = [...document.querySelectorAll('.state')].find((one) => one.ariaLabel.startsWith(name));
  const other = document.querySelectorAll('.bar')[0].closest('.world');
  const began = performance.now();
  const changed = new Promise((done) => new MutationObserver((_, self) => (self.disconnect(), done()))
    .observe(other, { subtree: true, attributes: true, attributeFilter: ['width'] }));
  state.dispatchEvent(new MouseEvent('click', { bubbles: true }));
  await changed;
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  return performance.now() - began;
}"""

FRAMES = """async () => {
  const canvas = document.querySelector('canvas.overview');
  const at = (x, y, type) =>
    canvas.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: y, pointerId: 1, bubbles: true }));
  canvas.setPointerCapture = () => {};
  at(400, 400, 'pointerdown');
  const times = [];
  let last = performance.now();
  for (let k = 0; k < 120; k++) {
    at(400 + 3 * k, 400 + k, 'pointermove');
    await new Promise((done) => requestAnimationFrame(done));
    const now = performance.now();
    times.push(now - last);
    last = now;
  }
  at(700, 500, 'pointerup');
  return times;
}"""


def address(client: Client, where: str = "") -> str:
    return f"http://127.0.0.1:{client.port}/#token={client.token}&open={where}"


def learned(client: Client) -> tuple[str, str]:
    """Learn classes of the house votes; return the table and the best model."""
    table = client.post("/api/tables/shipped", {"name": "house_votes"})["id"]
    asked = {"kind": "classes", "table": table, "from": 1, "to": 5, "hidden": "bloc", "aside": "party"}
    client.ended(client.post("/api/jobs", asked)["id"])
    client.ended(client.post("/api/jobs", {"kind": "search", "table": table, "max_parents": 2})["id"])
    best = next(m["id"] for m in client.get("/api/workspace")["models"] if m["best"])
    return str(table), str(best)


def pictures(folder: Path) -> None:
    """Write the pictures of the docs."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as place,
        running(Path(place) / "space") as client,
        browser() as chromium,
    ):
        table, model = learned(client)
        watched = Watched(chromium, width=1280, height=820)
        page = watched.page

        def shot(where: str, wanted: str, name: str, before: Any = None) -> None:
            page.goto("about:blank")
            page.goto(address(client, where))
            page.wait_for_selector(wanted)
            sleep(1.0)
            if before is not None:
                before()
                sleep(1.0)
            page.screenshot(path=str(folder / f"{name}.png"))

        def click() -> None:
            page.locator(".box").nth(3).locator(".state").nth(1).click()
            page.locator(".box.hidden .head").first.click()
            page.get_by_role("button", name="What to observe next?").click()

        shot(f"table/{table}", ".holes", "table")
        shot(f"graph/{model}", ".monitor .bar", "graph", click)
        shot(f"compare/{table}", ".sides .monitor .bar", "compare", lambda: page.mouse.wheel(0, 430))
        shot(f"rows/{table}", ".cells", "rows", lambda: page.locator("header select").select_option(model))
        watched.close()


def speed() -> None:
    """Print how long it takes from a click on ALARM to the painted answer, and frames of a large overview."""
    with (
        tempfile.TemporaryDirectory() as place,
        running(Path(place) / "space") as client,
        browser() as chromium,
    ):
        model = client.post("/api/models/shipped", {"name": "alarm"})["id"]
        for _ in range(60):
            client.post(f"/api/models/{model}/ask", {"given": {"HR": {"state": 0}}})
        watched = Watched(chromium)
        watched.page.goto(address(client, f"graph/{model}"))
        watched.page.wait_for_selector(".monitor .bar")
        sleep(1)
        rng, took = np.random.default_rng(0), []
        schema = lac.alarm().dag.schema
        roots = [v.name for v in schema if not lac.alarm().dag.parents_of(v.name)]
        for _ in range(60):
            name = str(rng.choice(roots))
            state = schema[name].states[int(rng.integers(schema[name].size))]
            took.append(watched.page.evaluate(CLICK, f"{name} is {state}:"))
        print(
            f"click to paint on ALARM, ms: median {np.median(took):.1f}, 95 % {np.quantile(took, 0.95):.1f}"
        )
        served = []
        for _ in range(60):
            began = perf_counter()
            client.post(f"/api/models/{model}/ask", {"given": {"HR": {"state": int(rng.integers(3))}}})
            served.append(1e3 * (perf_counter() - began))
        print(f"a request, ms: median {np.median(served):.1f}, 95 % {np.quantile(served, 0.95):.1f}")
        large = _large(rng)
        lac.save(large, Path(place) / "large.json")
        status, found = client.upload(
            "/api/models?name=large.json", (Path(place) / "large.json").read_bytes()
        )
        assert status == 200, found
        watched.page.goto("about:blank")
        watched.page.goto(address(client, f"graph/{found['id']}"))
        watched.page.wait_for_selector("canvas.overview")
        sleep(3)
        frames = watched.page.evaluate(FRAMES)
        print(
            f"724 variables, ms a frame while moved: median {np.median(frames):.1f}, "
            f"95 % {np.quantile(frames, 0.95):.1f}"
        )
        watched.close()


def _large(rng: np.random.Generator) -> lac.Network:
    """Return a network of 724 variables, each with a parent or two among the thirty before it."""
    schema = lac.Schema(tuple(lac.Variable(f"gene{i}", ("low", "high")) for i in range(724)))
    arcs = {
        (int(rng.integers(max(0, j - 30), j)), j)
        for j in range(1, 724)
        for _ in range(1 + (rng.random() < 0.5))
    }
    return lac.random_network(lac.Dag.from_arcs(schema, [(f"gene{i}", f"gene{j}") for i, j in sorted(arcs)]))


def main() -> None:
    what = sys.argv[1] if len(sys.argv) > 1 else "speed"
    if what == "pictures":
        pictures(Path(sys.argv[2]))
    elif what == "fuzz":
        with tempfile.TemporaryDirectory() as place:
            print(
                campaign(
                    Path(place) / "space", int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0
                )
            )
    else:
        speed()


if __name__ == "__main__":
    main()
