"""The whole path in a real browser: table, holes, classes, evidence, comparison, filling, export."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from time import sleep
from typing import Any

import pytest

import lacunary as lac
from tests.workbench.browser import Watched, browser, missing
from tests.workbench.client import Client, running
from tests.workbench.pictures import check_picture, keep_picture

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "there is a browser")

HOSTILE = "<img src=x onerror=document.title='owned'>"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as found:
        yield found


def address(client: Client, where: str = "") -> str:
    return f"http://127.0.0.1:{client.port}/#token={client.token}" + (f"&open={where}" if where else "")


def csv(path: Path) -> Path:
    """Write a table of two groups in which cells are missing, small enough that learning takes a moment."""
    table = lac.house_votes().select(["party", "crime", "immigration", "mx_missile", "education_spending"])
    path.write_text(table.to_frame("polars").write_csv(), encoding="utf-8")
    return path


def test_the_whole_path(chromium: Any, tmp_path: Path) -> None:
    with running(tmp_path / "space") as client:
        watched = Watched(chromium)
        page = watched.page
        page.goto(address(client))
        assert client.token not in page.url  # it is taken out of the address at once
        page.set_input_files("input[type=file]", csv(tmp_path / "votes.csv"))
        page.wait_for_selector(".holes .pattern")
        table = lac.read(tmp_path / "votes.csv")
        assert page.locator(".facts b").all_inner_texts()[:3] == ["435", "5", str(int(table.holes.sum()))]
        page.locator(".holes .pattern").nth(1).click()
        page.wait_for_selector(".rows-table td.gap")

        page.get_by_role("button", name="Learn", exact=True).click()
        page.get_by_label("to", exact=True).fill("2")
        page.get_by_label("Keep aside").select_option("party")
        page.get_by_role("button", name="Start", exact=True).click()
        page.wait_for_selector(".job .pill.good", timeout=900_000)
        page.get_by_role("button", name="Open the graph").click()

        page.wait_for_selector(".monitor .bar")
        network = next(m for m in client.get("/api/workspace")["models"] if m["best"])
        state = page.get_by_role("button", name=re.compile(r"^crime is y:"))
        state.click()
        page.wait_for_selector(".box.given")
        sleep(0.3)
        shown = page.get_by_role("button", name=re.compile(r"^class is A:")).get_attribute("aria-label")
        given = {"crime": {"state": 1}}
        told = client.post(f"/api/models/{network['id']}/ask", {"given": given})
        names = [v["name"] for v in client.get(f"/api/models/{network['id']}")["variables"]]
        assert shown == f"class is A: {100 * told['marginals'][names.index('class')]['p'][0]:.1f} %"
        page.keyboard.press("Control+z")
        page.wait_for_selector(".box.given", state="detached")
        page.keyboard.press("Control+Shift+z")
        page.wait_for_selector(".box.given")

        page.get_by_role("button", name="Compare", exact=True).click()
        page.wait_for_selector(".curve circle")
        page.locator(".sides .monitor").nth(1).wait_for()
        page.wait_for_selector(".rows-versus td")

        page.get_by_role("button", name="Rows", exact=True).click()
        page.wait_for_selector(".why rect")
        page.get_by_role("button", name="Fill", exact=True).click()
        with page.expect_download(timeout=600_000) as saved:
            page.get_by_role("button", name="Save votes filled.csv").click()
        saved.value.save_as(tmp_path / "filled.csv")
        assert not lac.read(tmp_path / "filled.csv", kinds="discrete").holes.any()

        page.get_by_role("button", name="Export", exact=True).click()
        page.get_by_text("given={'crime': 'y'}").wait_for()
        with page.expect_download() as saved:
            page.get_by_role("button", name="JSON").click()
        saved.value.save_as(tmp_path / "model.json")
        assert isinstance(lac.load(tmp_path / "model.json"), lac.Network)
        assert watched.errors == []
        assert watched.hosts <= {f"127.0.0.1:{client.port}", ""}
        watched.close()


def test_names_stay_names(chromium: Any, tmp_path: Path) -> None:
    with running(tmp_path / "space") as client:
        lines = "\n".join(f"{HOSTILE},{k % 3}" for k in range(30))
        _, table = client.upload(
            f"/api/tables?name={'%3Cb%3Ex.csv'}", f"{HOSTILE},b\nother,1\n{lines}\n".encode()
        )
        schema = lac.Schema((lac.Variable(HOSTILE, (HOSTILE, "b")), lac.Variable("b", ("0", HOSTILE))))
        lac.save(lac.random_network(lac.Dag.from_arcs(schema, [(HOSTILE, "b")])), tmp_path / "m.json")
        _, model = client.upload(f"/api/models?name={'%3Ci%3Em.json'}", (tmp_path / "m.json").read_bytes())
        watched = Watched(chromium)
        for where in (f"table/{table['id']}", f"graph/{model['id']}"):
            watched.page.goto("about:blank")
            watched.page.goto(address(client, where))
            watched.page.wait_for_selector("h1")
            watched.page.get_by_text("onerror").first.wait_for(state="attached")
            assert watched.page.locator("img[src=x]").count() == 0
        watched.page.locator(".box .head").first.click()
        watched.page.wait_for_selector(".inspector table")
        assert watched.page.title() == "lacunary workbench"
        assert watched.errors == []
        watched.close()


def test_the_keyboard_alone_gives_evidence(chromium: Any, tmp_path: Path) -> None:
    with running(tmp_path / "space") as client:
        model = client.post("/api/models/shipped", {"name": "asia"})["id"]
        watched = Watched(chromium)
        page = watched.page
        page.goto(address(client, f"graph/{model}"))
        page.wait_for_selector(".monitor .bar")
        page.locator(".monitor").focus()
        page.keyboard.press("Tab")  # the first box's first state
        page.keyboard.press("ArrowDown")
        focused = "document.activeElement.getAttribute('aria-label')"
        assert page.evaluate(focused).startswith("asia is no:")
        page.keyboard.press("Enter")
        page.wait_for_selector(".box.given .state.sure")
        page.keyboard.press("Tab")
        page.keyboard.press("Shift+ArrowLeft")
        page.keyboard.press("Shift+ArrowLeft")
        page.wait_for_selector(".soft rect, rect.soft")
        engine = lac.asia().engine({"asia": "no", "tub": {"yes": 0.8, "no": 1.0}})
        expected = 100 * engine.marginals()["dysp"]["yes"]
        sleep(0.3)
        label = page.get_by_role("button", name=re.compile("^dysp is yes:")).get_attribute("aria-label")
        assert label == f"dysp is yes: {expected:.1f} %"
        assert watched.errors == []
        watched.close()


def test_two_tabs_see_the_same_and_a_slow_job_stops_and_goes_on(chromium: Any, tmp_path: Path) -> None:
    with running(tmp_path / "space") as client:
        table = client.post("/api/tables/shipped", {"name": "house_votes"})["id"]
        one, two = Watched(chromium), Watched(chromium, width=400, height=800, dark=True)
        for watched in (one, two):
            watched.page.goto(address(client, f"learn/{table}"))
            watched.page.wait_for_selector(".kinds")
        one.page.get_by_label("to", exact=True).fill("60")
        one.page.get_by_role("button", name="Start", exact=True).click()
        two.page.wait_for_selector(".job .pill.live")
        two.page.wait_for_selector(".job .paths path", timeout=900_000)  # starts climb before one's eyes
        job = client.get("/api/workspace")["jobs"][0]["id"]
        checkpoint = tmp_path / "space" / "jobs" / job / "checkpoint.json"
        for _ in range(3000):
            if checkpoint.exists():
                break
            sleep(0.1)
        two.page.get_by_role("button", name="Stop", exact=True).click()
        one.page.get_by_role("button", name="Resume").wait_for()
        one.page.get_by_role("button", name="Resume").click()
        two.page.wait_for_selector(".job .paths path")
        two.page.get_by_role("button", name="Stop", exact=True).click()
        one.page.get_by_role("button", name="Resume").wait_for()
        assert one.errors == two.errors == []
        wide = two.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 400
        one.close()
        two.close()


def test_a_tab_without_the_key_is_told_so_and_a_lost_server_too(chromium: Any, tmp_path: Path) -> None:
    watched = Watched(chromium)
    with running(tmp_path / "space") as client:
        watched.page.goto(f"http://127.0.0.1:{client.port}/")
        watched.page.get_by_text("This tab has no key").wait_for()
        watched.page.goto("about:blank")
        watched.page.goto(address(client))
        watched.page.wait_for_selector(".hero")
        sleep(0.5)
    watched.page.get_by_text("does not answer").wait_for()
    watched.close()


def test_a_page_answers_without_a_server(chromium: Any, tmp_path: Path) -> None:
    network = lac.asia()
    network.page(tmp_path / "asia.html", title="Chest clinic")
    watched = Watched(chromium)
    page = watched.page
    page.goto((tmp_path / "asia.html").as_uri())
    page.get_by_role("button", name=re.compile("^xray is yes:")).click()
    page.wait_for_selector(".box.given")
    expected = 100 * network.query("lung", given={"xray": "yes"})["yes"]
    page.wait_for_function(
        "([name, text]) => document.querySelector(`[aria-label^='${name}']`).ariaLabel === text",
        arg=["lung is yes", f"lung is yes: {expected:.1f} %"],
    )
    page.get_by_role("button", name="Most probable explanation").click()
    page.wait_for_selector(".diamond")
    best = {
        name.split(" is ")[0]: name.split(" is ")[1].split(":")[0]
        for name in page.locator(".state.best").evaluate_all("all => all.map((one) => one.ariaLabel)")
    }
    assert best == network.explain({"xray": "yes"})
    assert watched.errors == []
    assert watched.hosts == {""}
    watched.close()


@pytest.mark.long
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_main_screens_look_as_they_did(chromium: Any, tmp_path: Path, dark: bool) -> None:
    with running(tmp_path / "space") as client:
        table = client.post("/api/tables/shipped", {"name": "house_votes"})["id"]
        model = client.post("/api/models/shipped", {"name": "asia"})["id"]
        watched = Watched(chromium, dark=dark)
        for screen, where, ready in (
            ("table", f"table/{table}", ".holes .pattern"),
            ("graph", f"graph/{model}", ".monitor .bar"),
        ):
            watched.page.goto("about:blank")
            watched.page.goto(address(client, where))
            watched.page.wait_for_selector(ready)
            sleep(0.5)  # bars move to their places
            check_picture(watched.page.screenshot(), f"{screen}-{'dark' if dark else 'light'}")
        watched.close()


@pytest.mark.skipif(os.environ.get("LACUNARY_PICTURES") != "write", reason="the manual has its pictures")
def test_the_manual_gets_its_pictures(chromium: Any, tmp_path: Path) -> None:
    """Learn blocs of the house, and keep the screens of which the manual speaks."""
    with running(tmp_path / "space") as client:
        table = client.post("/api/tables/shipped", {"name": "house_votes"})["id"]
        asked = {"kind": "classes", "table": table, "from": 1, "to": 4, "hidden": "bloc", "aside": "party"}
        job = client.ended(client.post("/api/jobs", asked)["id"])
        models = [client.get(f"/api/models/{key}") for key in job["result"]["models"]]
        best = next(model["id"] for model in models if model["best"])
        watched = Watched(chromium)
        page = watched.page
        page.goto(address(client, f"graph/{best}"))
        page.get_by_role("button", name=re.compile(r"^physician_fee_freeze is y:")).click()
        page.wait_for_selector(".box.given")
        keep_picture(page, "graph")
        for screen, ready in (
            ("table", ".holes .pattern"),
            ("rows", ".why rect"),
            ("compare", ".rows-versus td"),
        ):
            page.get_by_role("button", name=screen.capitalize(), exact=True).click()
            page.wait_for_selector(ready)
            if screen == "compare":
                page.get_by_role("heading", name="A against B").scroll_into_view_if_needed()
                page.locator(".sides .monitor").first.scroll_into_view_if_needed()
            keep_picture(page, screen)
        assert watched.errors == []
        watched.close()
