"""Whether a built site loads anything from elsewhere: ``python docs/_ext/local.py FOLDER``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

LOAD = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed|object|use)\b
        [^>]*?\b(?:src|srcset|data|href)\s*=\s*["']?\s*(?:https?:)?//[^>]*>
      | <link\b(?=[^>]*\brel\s*=\s*["']?(?:stylesheet|pre\w+|modulepreload|icon|manifest|dns-prefetch))
        [^>]*?\bhref\s*=\s*["']?\s*(?:https?:)?//[^>]*>
      | @import\s+(?:url\()?\s*["']?\s*(?:https?:)?//[^;]*;
      | \burl\(\s*["']?\s*(?:https?:)?//[^)]*\)
      | \b(?:fetch|importScripts|import)\(\s*["'`](?:https?:)?//[^)]*\)""",
    re.IGNORECASE | re.VERBOSE,
)


def loads(text: str) -> list[str]:
    """Return what a page, a style or a script would load from another host. Links are not loads."""
    return [match[0] for match in LOAD.finditer(text)]


def main(folder: Path) -> int:
    """Print every load from elsewhere in a site, and return how many there are."""
    kinds = (".html", ".css", ".js", ".svg")
    pages = [path for path in folder.rglob("*") if path.suffix in kinds]
    found = [
        (path, load) for path in pages for load in loads(path.read_text(encoding="utf-8", errors="replace"))
    ]
    for path, load in found:
        print(f"{path.relative_to(folder)}: {load[:160]}")
    print(f"{len(pages)} files looked at, {len(found)} loads from elsewhere")
    return len(found)


if __name__ == "__main__":
    sys.exit(min(main(Path(sys.argv[1])), 1))
