"""
To see is not to set
====================

Whoever *sees* that a patient has lung cancer learns that he probably smokes. Whoever *sets* it
learns nothing about smoking: the arcs into what is set are cut.
"""

import matplotlib.pyplot as plt

import lacunary as lac

network = lac.asia()
answers = {
    "nothing known": network.query("smoke"),
    "cancer seen": network.query("smoke", given={"lung": "yes"}),
    "cancer set": network.query("smoke", do={"lung": "yes"}),
}
with plt.rc_context(lac.FigureStyle.settings):
    picture, axes = plt.subplots(figsize=(5.5, 2.4), layout="constrained")
    axes.barh(list(answers), [answer["yes"] for answer in answers.values()], color=lac.FigureStyle.steady)
    axes.set(xlim=(0, 1), xlabel="probability that the patient smokes")
    axes.invert_yaxis()
plt.close(picture)
