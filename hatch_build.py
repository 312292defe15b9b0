"""The long description and the project's links, made when the package is built.

Links to files of the project mean nothing on the page of a package index. Where ``LACUNARY_HOME_URL`` has the
public address of the project they become absolute; where there is none yet, files are named without a link.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"\[([^\]]+)\]\((?!https?://|#)([^)\s]+)\)")
"""A link to a file beside the page."""


def described(text: str, home: str) -> str:
    """Return a page with its links to files made absolute, or with the files' names in their place."""
    if home:
        return LINK.sub(lambda m: f"[{m[1]}]({home}/{m[2]})", text)
    return LINK.sub(lambda m: m[1] if m[1] == m[2] else f"{m[1]} (`{m[2]}`)", text)


class CustomMetadataHook(MetadataHookInterface):
    """Fills in what pyproject.toml calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the long description and the links."""
        home = os.environ.get("LACUNARY_HOME_URL", "").rstrip("/")
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": described(text, home)}
        pages = {"Homepage": "", "Documentation": "/docs", "Changelog": "/CHANGELOG.md"}
        metadata["urls"] = {name: home + path for name, path in pages.items()} if home else {}
