"""The API reference: a page for every public name, in the groups of ``reference/groups.toml``.

Pages are written into ``reference/`` when the site is built, and are not kept under version control.
"""

from __future__ import annotations

import doctest
import inspect
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import lacunary

FOLDER = Path(__file__).parents[1] / "reference"


class Group(NamedTuple):
    """Names that serve one purpose: a title, what it is about, the guides that tell more, the names."""

    title: str
    about: str
    guides: list[str]
    names: list[str]


def groups(folder: Path = FOLDER) -> list[Group]:
    """Return the groups in the order of the reference."""
    text = (folder / "groups.toml").read_text(encoding="utf-8")
    return [Group(g["title"], g["about"], g["guides"], g["names"]) for g in tomllib.loads(text)["group"]]


def stem(name: str) -> str:
    """Return what the page of a name is called; ``Dag`` and ``dag`` differ where case does not count."""
    return f"class-{name.lower()}" if name[0].isupper() else name


def summary(name: str) -> str:
    """Return the first sentence of a name's docstring."""
    return " ".join((inspect.getdoc(getattr(lacunary, name)) or "").split("\n\n")[0].split())


def lent(folder: Path = FOLDER) -> dict[str, str]:
    """Return the classes that are shown by the example of what returns or takes them, and that verb."""
    found: dict[str, str] = tomllib.loads((folder / "groups.toml").read_text(encoding="utf-8"))["shown_by"]
    return found


def example(name: str) -> str:
    """Return what is shown of a name: its own examples, those of its methods, or those of a verb."""
    thing = getattr(lacunary, lent().get(name, name))
    methods = [
        inspect.getdoc(m) or "" for k, m in vars(thing).items() if inspect.isclass(thing) and k[0] != "_"
    ]
    texts = [inspect.getdoc(thing) or "", *methods]
    return "\n".join(e.source + e.want for text in texts for e in _prompted(text))


def _prompted(text: str) -> list[doctest.Example]:
    """Return the examples of a docstring, with the prompts that the parser takes away."""
    found = doctest.DocTestParser().get_examples(text)
    for one in found:
        one.source = ">>> " + one.source.rstrip("\n").replace("\n", "\n... ") + "\n"
    return found


def _shown(name: str) -> str:
    """Return the section with the example that another name lends to a class."""
    verb = lent().get(name)
    if verb is None:
        return ""
    lines = "".join(f"   {line}\n" if line else "\n" for line in example(name).splitlines())
    return (
        f"\n.. rubric:: Examples\n\nWith :doc:`{verb} <{stem(verb)}>`:\n\n.. code-block:: pycon\n\n{lines}\n"
    )


def page(name: str, guides: list[str]) -> str:
    """Return the page of a name."""
    thing = getattr(lacunary, name)
    title = f"{name}\n{'=' * len(name)}\n"
    if not inspect.isclass(thing):
        body = f".. autofunction:: lacunary.{name}\n"
    else:
        bases = "   :show-inheritance:\n" if issubclass(thing, Exception) else ""
        body = f".. autoclass:: lacunary.{name}\n   :members:\n{bases}"
    more = ", ".join(f":doc:`/{guide}`" for guide in guides)
    return f"{title}\n.. currentmodule:: lacunary\n\n{body}{_shown(name)}\n.. seealso:: {more}\n"


def group_page(group: Group) -> str:
    """Return the page of a group: its names, each with what it is."""
    rows = "".join(f"   * - :doc:`{name} <{stem(name)}>`\n     - {summary(name)}\n" for name in group.names)
    pages = "".join(f"   {name} <{stem(name)}>\n" for name in group.names)
    return (
        f"{group.title}\n{'=' * len(group.title)}\n\n{group.about}\n\n"
        f".. list-table::\n   :widths: 28 72\n   :class: names\n\n{rows}\n"
        f".. toctree::\n   :hidden:\n\n{pages}"
    )


def index(found: list[Group]) -> str:
    """Return the first page of the reference."""
    slugs = "".join(f"   {slug(group)}\n" for group in found)
    return (
        "Reference\n=========\n\nEvery public name, by what people do with it. All of them are found in "
        "``import lacunary as lac``; verbs are functions, nouns are classes, and the first sentence of each "
        "says what comes back. The estimators for scikit-learn have :doc:`a page of their own "
        "</scikit-learn>`, and ``lacunary COMMAND --help`` tells about the prompt.\n"
        f"{''.join(map(_listed, found))}\n.. toctree::\n   :hidden:\n   :maxdepth: 1\n\n{slugs}"
    )


def _listed(group: Group) -> str:
    """Return a group's part of the first page: its title, what it is about, its names."""
    names = " · ".join(f":doc:`{name} <{stem(name)}>`" for name in group.names)
    rule = "-" * len(group.title)
    return f"\n{group.title}\n{rule}\n\n{group.about}\n\n.. container:: name-list\n\n   {names}\n"


def slug(group: Group) -> str:
    """Return what the page of a group is called."""
    return "group-" + "-".join(word.strip(",").lower() for word in group.title.split())


def write(app: Any) -> None:
    """Write all pages; one that has not changed is left alone, so that it is not built again."""
    found = groups()
    pages = {"index": index(found)} | {slug(group): group_page(group) for group in found}
    pages |= {stem(name): page(name, group.guides) for group in found for name in group.names}
    for name, text in pages.items():
        path = FOLDER / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in FOLDER.glob("*.rst"):
        if path.stem not in pages:
            path.unlink()


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx."""
    app.connect("builder-inited", write, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
