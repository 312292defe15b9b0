"""The reference networks that come with the package."""

from __future__ import annotations

from lacunary.data.datasets import dataset_path
from lacunary.files.store import load
from lacunary.infer.network import Network

__all__ = ["alarm", "asia"]


def asia() -> Network:
    """Return the chest clinic of Lauritzen and Spiegelhalter (1988): 8 binary variables.

    Examples
    --------
    >>> import lacunary as lac
    >>> round(lac.asia().query("lung", given={"smoke": "yes"})["yes"], 3)
    0.1
    """
    return load(dataset_path("asia"), Network)


def alarm() -> Network:
    """Return the patient monitor of Beinlich et al. (1989): 37 variables with 2 to 4 states.

    Examples
    --------
    >>> import lacunary as lac
    >>> network = lac.alarm()
    >>> len(network.dag.names), len(network.dag.arcs)
    (37, 46)
    """
    return load(dataset_path("alarm"), Network)
