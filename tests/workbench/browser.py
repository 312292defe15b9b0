"""A real browser, Chromium from the system's packages, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def missing() -> str:
    """Return why there is no browser to test with; empty if there is one."""
    try:
        import playwright  # noqa: F401
    except ImportError:
        return "playwright is not installed"
    return "" if _path() else "there is no Chromium on this machine"


def _path() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextmanager
def browser() -> Iterator[Any]:
    """Run a browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=_path(), args=FLAGS)
        try:
            yield found
        finally:
            found.close()


class Watched:
    """A page, what it complained of, and the hosts it asked."""

    def __init__(self, browser: Any, *, width: int = 1280, height: int = 860, dark: bool = False) -> None:
        scheme = "dark" if dark else "light"
        size = {"width": width, "height": height}
        self.context = browser.new_context(viewport=size, color_scheme=scheme, accept_downloads=True)
        self.page = self.context.new_page()
        self.page.set_default_timeout(180_000)
        self.errors: list[str] = []
        self.hosts: set[str] = set()
        self.page.on("pageerror", lambda problem: self.errors.append(str(problem)))
        self.page.on("console", self._heard)
        self.page.on(
            "request",
            lambda request: self.hosts.add(request.url.split("/")[2] if "//" in request.url else ""),
        )

    def _heard(self, message: Any) -> None:
        # What the server refuses in words is shown to the user, and noted by the browser as well.
        if (
            message.type == "error"
            and "status of 4" not in message.text
            and "ERR_CONNECTION" not in message.text
        ):
            self.errors.append(message.text)

    def close(self) -> None:
        self.context.close()
