"""GHM96: the dimension of networks with hidden variables."""
