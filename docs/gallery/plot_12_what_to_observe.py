"""
What should be looked at next?
==============================

The patient is short of breath. Which observation takes away most of the doubt about lung cancer?
"""

import matplotlib.pyplot as plt

import lacunary as lac

worth = lac.value_of_observation(lac.asia(), "lung", given={"dysp": "yes"})
print(worth)

# %%
with plt.rc_context(lac.FigureStyle.settings):
    picture, axes = plt.subplots(figsize=(5.5, 2.8), layout="constrained")
    axes.barh([one.name for one in worth], [one.information for one in worth], color=lac.FigureStyle.steady)
    axes.set(xlabel="nats of doubt taken away")
    axes.invert_yaxis()
plt.close(picture)
