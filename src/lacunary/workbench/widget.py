"""A network as a live monitor inside a notebook, by anywidget: the same code as the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import lacunary as lac
from lacunary.workbench.asking import finding_of
from lacunary.workbench.page import STATIC, embedded

__all__ = ["widget"]


def widget(network: lac.Network, given: Mapping[str, Any] | None = None) -> Any:
    """Return a widget that shows a network and answers clicks; ``.given`` is what is clicked, by name."""
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise lac.ParameterError("a widget needs anywidget: pip install 'lacunary[widget]'") from None

    class Monitor(anywidget.AnyWidget):  # type: ignore[misc]
        """A network in a notebook."""

        _esm = (STATIC / "widget.js").read_text(encoding="utf-8")
        _css = (STATIC / "widget.css").read_text(encoding="utf-8")
        network = traitlets.Dict().tag(sync=True)
        findings = traitlets.Dict().tag(sync=True)

        @property
        def given(self) -> dict[str, Any]:
            """What is clicked, as `Network.query` takes it."""
            schema = network.dag.schema
            return {name: finding_of(schema[name], dict(one)) for name, one in self.findings.items()}

    known = network.engine(given or {}).given
    return Monitor(
        network=embedded(network, "Network"), findings={n: _told(network, n, f) for n, f in known.items()}
    )


def _told(network: lac.Network, name: str, finding: Any) -> dict[str, Any]:
    variable = network.dag.schema[name]
    if isinstance(finding, dict):
        return {"likelihood": [finding[state] for state in variable.states]}
    return {"state": variable.code[finding]} if variable.discrete else {"value": finding}
