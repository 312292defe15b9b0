"""The reference networks that come with the package."""

from __future__ import annotations

from lacunary.data.datasets import dataset_path
from lacunary.files.store import load
from lacunary.infer.network import Network

__all__ = ["alarm", "asia"]


def asia() -> Network:
    """Return the chest clinic of Lauritzen and Spiegelhalter (1988): 8 binary variables."""
    network: Network = load(dataset_path("asia"))
    return network


def alarm() -> Network:
    """Return the patient monitor of Beinlich et al. (1989): 37 variables with 2 to 4 states."""
    network: Network = load(dataset_path("alarm"))
    return network
