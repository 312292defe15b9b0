"""Swaps of hidden variables, against trying every permutation."""

from __future__ import annotations

from itertools import permutations

import pytest

import lacunary as lac
from lacunary.model.dag import Dag
from lacunary.model.swaps import Swaps

GRAPHS = [
    lac.dag("H -> A B; G -> A B; F -> A", hidden=["F", "G", "H"]),
    lac.dag("H -> A B; G -> A B", hidden={"H": 2, "G": 3}),
    lac.dag("F -> G -> A; H -> E -> A", hidden=["E", "F", "G", "H"]),
    lac.dag("F -> A; G -> A; H -> A; E -> A", hidden=["E", "F", "G", "H"]),
    lac.dag("F -> G -> H -> A", hidden=["F", "G", "H"]),
    lac.dag("H G -> A; G H -> B", hidden=["H", "G"], tied=[("A", "B")]),
    lac.dag("H -> A; G -> B; H -> C; G -> C", hidden=["H", "G"], tied=[("A", "B")]),
    lac.dag("F -> A; G -> A; E -> A; D -> A", hidden=["D", "E", "F", "G"], tied=[("D", "E"), ("F", "G")]),
    lac.dag("A -> B"),
]


def every(dag: Dag) -> list[dict[int, int]]:
    """Return all permutations of hidden variables that keep sizes, arcs and tied tables with their axes."""
    hidden = [dag.schema.index(name) for name in dag.schema.hidden]
    arcs = {(p, v) for v, parents in enumerate(dag.parent_indices) for p in parents}
    found = []
    for images in permutations(hidden):
        image = {v: v for v in range(len(dag.schema))} | dict(zip(hidden, images, strict=True))
        sizes = all(dag.schema.sizes[v] == dag.schema.sizes[w] for v, w in image.items())
        if sizes and {(image[p], image[v]) for p, v in arcs} == arcs and _ties(dag, image):
            found.append(image)
    return found


def _ties(dag: Dag, image: dict[int, int]) -> bool:
    for group in dag.tied:
        members = [dag.schema.index(name) for name in group]
        seats = []
        for v in members:
            target = [*dag.parent_indices[image[v]]]
            seats.append([target.index(image[p]) for p in dag.parent_indices[v]])
        together = {dag.names[image[v]] for v in members}
        if together not in map(set, dag.tied) or any(seat != seats[0] for seat in seats):
            return False
    return True


@pytest.mark.parametrize("dag", GRAPHS, ids=str)
def test_swaps_are_those_of_trying_every_permutation(dag: Dag) -> None:
    swaps, expected = Swaps(dag), every(dag)
    found = list(swaps)
    assert sorted(map(sorted, (s.items() for s in found))) == sorted(
        map(sorted, (s.items() for s in expected))
    )
    assert all(image in swaps for image in expected)
    hidden = [dag.schema.index(name) for name in dag.schema.hidden]
    for images in permutations(hidden):
        image = {v: v for v in range(len(dag.schema))} | dict(zip(hidden, images, strict=True))
        assert (image in swaps) == (image in expected)
