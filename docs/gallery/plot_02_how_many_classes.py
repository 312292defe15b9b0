"""
How many hidden classes?
========================

The *evidence* of a model is the probability of the data with its parameters averaged out. It rises
while another class explains more than it costs, and falls from there on. Estimates of it differ;
BIC is known to be too careful.
"""

import lacunary as lac

votes = lac.house_votes()
votes = votes.select([name for name in votes.schema.names if name != "party"])

models = [lac.naive_bayes(votes, hidden="bloc", states=k) for k in range(1, 7)]
weighed = lac.compare(models, votes, ["bic", "cheeseman-stutz"], starts=5)
picture = weighed.plot()

# %%
print(weighed)
