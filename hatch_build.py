"""The version, the long description and the project's links, made when the package is built.

A release is a tag ``v`` + version, and the version of what is built comes from the tag: that of the commit,
or the last one before it and how far this commit is behind. Without a repository, without git or without tags
it is the one that the source declares; a source distribution keeps the one it was given.

Links to files of the project mean nothing on the page of a package index. Where ``LACUNARY_HOME_URL`` has the
public address of the project they become absolute; where there is none yet, files are named without a link.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

HERE = Path(__file__).resolve().parent
DECLARED = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
DESCRIBED = re.compile(r"v(\d+(?:\.\w+)*)-(\d+)-g([0-9a-f]+)")
LINK = re.compile(r"\[([^\]]+)\]\((?!https?://|#)([^)\s]+)\)")
"""A link to a file beside the page."""


def version(root: Path = HERE) -> str:
    """Return the version of what is built from a folder."""
    declared = DECLARED.search((root / "src/lacunary/__init__.py").read_text(encoding="utf-8"))
    if declared is None:
        raise ValueError("src/lacunary/__init__.py declares no __version__")
    if (given := root / "PKG-INFO").is_file():
        return re.findall(r"^Version: (\S+)$", given.read_text(encoding="utf-8"), re.MULTILINE)[0]
    found = DESCRIBED.fullmatch(_asked(root, "describe", "--tags", "--long", "--match", "v[0-9]*"))
    if found is None:
        return declared[1]
    tag, behind, commit = found.groups()
    if behind == "0":
        if tag != declared[1]:
            raise ValueError(f"the tag says {tag}, src/lacunary/__init__.py {declared[1]}: make them one")
        return tag
    return f"{declared[1]}.{'post' if tag == declared[1] else 'dev'}{behind}+g{commit}"


def _asked(root: Path, *words: str) -> str:
    """Return what git says of a folder that is the top of a repository; nothing if it cannot."""
    if not (root / ".git").exists():
        return ""
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


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
