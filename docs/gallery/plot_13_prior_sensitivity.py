"""
Does the prior decide?
======================

The evidence of two models under priors worth a tenth of a row up to a hundred rows. Where lines
cross, the prior decides and not the data.
"""

import lacunary as lac

rows = lac.asia().sample(100, rng=0)
models = {"apart": "smoke; lung", "joined": "smoke -> lung"}
found = lac.sensitivity(models, rows, "exact", alphas=[0.1, 0.3, 1, 3, 10, 30, 100])
picture = found.plot()
