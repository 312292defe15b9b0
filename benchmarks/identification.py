"""Effects in a thousand random graphs: ``python -m benchmarks.identification [MANY] [SEED]``.

Prints how many effects were identified, the largest distance of a formula's answer from the mutilated
network's, and whether every refusal showed a hedge.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from tests import naive_causal
from tests.causal.random_graphs import questions

import lacunary as lac
from lacunary.causal.projection import latent_projection


def main(many: int = 1000, seed: int = 0) -> None:
    began, worst, told, refused, hedges = time.process_time(), 0.0, 0, 0, 0
    for question in questions(many, seed):
        do, given = question.do, question.given
        found = lac.identify(question.network.dag, question.outcome, list(do), list(given))
        if found.identified:
            told += 1
            answer = found.evaluate(question.network, do, given).probabilities
            truth = naive_causal.asked(question.network, found.outcome, do, given)
            worst = max(worst, float(np.abs(answer - truth).max()))
            continue
        refused += 1
        assert found.hedge is not None
        graph = latent_projection(question.network.dag, frozenset(question.hidden))
        hedges += naive_causal.is_hedge(found.hedge, graph, *_asked(found.hedge.set, question))
    took = time.process_time() - began
    print(f"{many} random graphs, seed {seed}: {told} effects identified, {refused} refused, {hedges} hedges")
    print(f"largest distance from the mutilated network's answer: {worst:.1e}; {took:.0f} s of CPU")


def _asked(set_: tuple[str, ...], question: object) -> tuple[list[str], list[str]]:
    """Return outcome and what is set of the question that was refused.

    A conditional question is one about outcome and given together, with some of the given taken as set.
    """
    from tests.causal.random_graphs import Question

    assert isinstance(question, Question)
    do = [*question.do, *(name for name in set_ if name in question.given)]
    return [*question.outcome, *(name for name in question.given if name not in do)], do


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
