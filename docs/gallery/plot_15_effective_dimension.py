"""
How many parameters really count?
=================================

With a hidden variable some directions of the parameters move nothing that can be observed. The
*effective dimension* counts those that do, in exact arithmetic.
"""

import matplotlib.pyplot as plt

import lacunary as lac

states = range(1, 8)
found = [lac.dimension(lac.dag("H -> A B C D", hidden={"H": k})) for k in states]
with plt.rc_context(lac.FigureStyle.settings):
    picture, axes = plt.subplots(figsize=(5.5, 3.0), layout="constrained")
    axes.plot(
        states, [one.parameters for one in found], "o-", color=lac.FigureStyle.muted, label="parameters"
    )
    axes.plot(states, [one.rank for one in found], "s-", color=lac.FigureStyle.accent, label="that count")
    axes.axhline(15, ls=":", color=lac.FigureStyle.muted)
    axes.set(xlabel="states of the hidden class", ylabel="dimensions")
    axes.legend(frameon=False)
plt.close(picture)
