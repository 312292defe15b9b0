"""Who may ask the server what: every rule, over a real socket."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from time import sleep

import pytest
from typer.testing import CliRunner

from lacunary.cli import app
from lacunary.workbench.guard import Limits, hosts_of
from lacunary.workbench.run import Server
from tests.workbench.client import Client, running

SMALL = Limits(json=10_000, upload=50_000)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running(tmp_path_factory.mktemp("guarded") / "space", SMALL) as found:
        yield found


def test_with_everything_right_it_answers(client: Client) -> None:
    assert client.raw("GET", "/api/workspace")[0] == 200
    assert client.raw("POST", "/api/models/shipped", b'{"name": "asia"}')[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        None,
        "evil.example",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost.evil.example:{port}",
        "127.0.0.1:{port}.evil.example",
        "evil@127.0.0.1:{port}",
        "[::1]:{port}",
        "0.0.0.0:{port}",
        "127.0.0.1:{port} ",
        "127.1:{port}",
        "2130706433:{port}",
    ],
)
def test_another_host_is_not_ours(client: Client, host: str | None) -> None:
    """A name that an attacker points at this machine (DNS rebinding) is not answered, for pages neither."""
    named = None if host is None else host.format(port=client.port)
    if named is not None and named != named.strip():
        assert (
            client.raw("GET", "/", headers=client.headers(Host=named))[0] == 200
        )  # blanks are no part of it
        return
    for path in ("/", "/api/workspace"):
        assert client.raw("GET", path, headers=client.headers(Host=named))[0] in (400, 421)


def test_two_hosts_are_refused(client: Client) -> None:
    with socket.create_connection(("127.0.0.1", client.port)) as raw:
        ours = f"127.0.0.1:{client.port}"
        told = f"GET / HTTP/1.1\r\nHost: {ours}\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
        raw.sendall(told.encode())
        assert raw.recv(100).split()[1] in (b"400", b"421")


def test_localhost_is_ours_too(client: Client) -> None:
    assert client.raw("GET", "/", headers=client.headers(Host=f"LocalHost:{client.port}"))[0] == 200


@pytest.mark.parametrize(
    "token", [None, "", "Bearer", "Bearer wrong", "Basic {token}", "{token}", "Bearer {token}x"]
)
def test_without_the_token_nothing_is_told(client: Client, token: str | None) -> None:
    given = None if token is None else token.format(token=client.token)
    for method, path in (("GET", "/api/workspace"), ("GET", "/api/openapi.json"), ("GET", "/api/nothing")):
        status, body, _ = client.raw(method, path, headers=client.headers(Authorization=given))
        assert status == 401
        assert client.token.encode() not in body


def test_the_token_is_long_and_new_each_time(client: Client, tmp_path: Path) -> None:
    with running(tmp_path / "other") as other:
        assert other.token != client.token
        assert len(other.token) >= 43  # 32 bytes in base 64


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "https://127.0.0.1:{port}", "http://127.0.0.1:1"]
)
def test_what_changes_something_needs_our_origin(client: Client, origin: str | None) -> None:
    given = None if origin is None else origin.format(port=client.port)
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert client.raw(method, "/api/tables/x", b"{}", client.headers(Origin=given))[0] == 403


def test_requests_that_other_pages_cause_are_refused(client: Client) -> None:
    for site in ("cross-site", "same-site"):
        assert client.raw("GET", "/api/workspace", headers=client.headers(Sec_Fetch_Site=site))[0] == 403


@pytest.mark.parametrize(
    "kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_what_a_form_can_send_is_refused(client: Client, kind: str | None) -> None:
    assert client.raw("POST", "/api/jobs", b"{}", client.headers(Content_Type=kind))[0] == 415


def test_nothing_may_be_read_from_another_origin(client: Client) -> None:
    for method in ("GET", "OPTIONS"):
        _, _, headers = client.raw(
            method, "/api/workspace", headers=client.headers(Origin="http://evil.example")
        )
        assert not [name for name in headers if name.startswith("access-control")]


def test_pages_may_load_our_own_files_alone(client: Client) -> None:
    for path in ("/", "/app.js", "/api/workspace", "/nowhere"):
        _, _, headers = client.raw("GET", path)
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..%2fapi.py",
        "//etc/passwd",
        "/static/app.js",
        "/app.js/",
        "/api/tables/..%2f..%2f",
        "/api/jobs/../../x/files/0",
        "/api/tables/%00",
        "/index.html%00.js",
    ],
)
def test_no_path_leads_out(client: Client, path: str) -> None:
    status, body, _ = client.raw("GET", path)
    assert status in (404, 405, 422), body[:200]
    assert b"root:" not in body


def test_a_name_with_slashes_stays_a_name(client: Client, tmp_path: Path) -> None:
    status, found = client.upload("/api/tables?name=..%2F..%2F..%2Fout.csv", b"a,b\nx,y\nx,z\n")
    assert status == 200
    assert found["name"] == "out"
    assert not (tmp_path / "out.csv").exists()


def test_too_much_is_refused_before_it_is_read(client: Client) -> None:
    body = json.dumps({"name": "x" * 20_000}).encode()
    assert client.raw("POST", "/api/models/shipped", body)[0] == 413
    assert client.upload("/api/tables?name=a.csv", b"a,b\n" + b"1,2\n" * 20_000)[0] == 413


def test_too_much_is_refused_where_nobody_said_how_much(client: Client) -> None:
    """Chunked bodies say no length; they are counted as they come, and no part of them is kept."""
    with socket.create_connection(("127.0.0.1", client.port)) as raw:
        raw.settimeout(20)
        head = "".join(
            f"{k}: {v}\r\n" for k, v in client.headers(Content_Type="application/octet-stream").items()
        )
        raw.sendall(
            f"POST /api/tables?name=a.csv HTTP/1.1\r\n{head}Transfer-Encoding: chunked\r\n\r\n".encode()
        )
        try:
            for _ in range(40):
                raw.sendall(b"1000\r\n" + b"x" * 4096 + b"\r\n")
            raw.sendall(b"0\r\n\r\n")
        except OSError:
            pass  # it was cut off, as it may be
        assert raw.recv(100).split()[1] == b"413"


def test_an_upload_that_breaks_off_leaves_nothing_behind(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with running(tmp_path / "space") as client:
        told = "".join(
            f"{name}: {value}\r\n"
            for name, value in client.headers(Content_Type="application/octet-stream").items()
        )
        with socket.create_connection(("127.0.0.1", client.port)) as half:
            half.sendall(
                f"POST /api/tables?name=a.csv HTTP/1.1\r\n{told}Content-Length: 99\r\n\r\na,b".encode()
            )
            while not (uploads := list((tmp_path / "space").glob("upload-*"))):
                sleep(0.01)
        for _ in range(1000):
            if not uploads[0].exists():
                break
            sleep(0.01)
        assert client.ask("GET", "/api/workspace")[0] == 200
        assert not list((tmp_path / "space").glob("upload-*"))
    assert "Exception in ASGI application" not in capfd.readouterr().err


def test_a_downloaded_page_is_no_page_of_ours(client: Client) -> None:
    model = client.post("/api/models/shipped", {"name": "asia"})["id"]
    _, body, headers = client.raw("GET", f"/api/models/{model}/export?format=html")
    assert body.startswith(b"<!doctype html>")
    assert headers["content-disposition"].startswith("attachment")
    assert headers["content-type"] == "application/octet-stream"


@pytest.mark.parametrize("verb", [["serve", "asia"], ["workbench", "--no-browser"]])
def test_other_machines_need_a_word_of_their_own(verb: list[str]) -> None:
    refused = CliRunner().invoke(app, [*verb, "--host", "192.0.2.1"])
    assert refused.exit_code == 2
    assert "--anyone" in refused.output
    refused = CliRunner().invoke(app, [*verb, "--host", "0.0.0.0", "--anyone"])
    assert refused.exit_code == 2
    assert "every address" in refused.output


def test_answers_do_not_wait_to_be_sent_together() -> None:
    """Asyncio sets TCP_NODELAY on connections whose socket says that it is TCP, and on no others."""
    server = Server(lambda token, hosts: None, "127.0.0.1", 0)
    assert server.socket.proto == socket.IPPROTO_TCP
    server.socket.close()


def test_what_the_host_header_may_be() -> None:
    assert hosts_of("127.0.0.1", 8000) == {"127.0.0.1:8000", "localhost:8000"}
    assert hosts_of("::1", 80) == {"[::1]:80", "[::1]"}
