"""
What the classes are like
=========================

Each column is a class, each row a vote: the share of members of the class who voted yes. The party
was kept out of the model, and is set beside the classes afterwards.
"""

import lacunary as lac

votes = lac.house_votes()
study = lac.classes(votes, [2, 3], hidden="bloc", aside="party", starts=3)
picture = study.plot("profiles")
