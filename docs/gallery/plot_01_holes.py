"""
Where values are missing
========================

Rows are grouped by which cells they miss. Here 5 % of the cells are empty, but dropping every row
with an empty cell would lose nearly half of them.
"""

import lacunary as lac

votes = lac.house_votes()
picture = votes.plot_holes()

# %%
# How many rows have no hole at all?

int((~votes.holes.any(axis=1)).sum()), len(votes)
