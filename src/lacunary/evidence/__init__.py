"""How strongly data speak for a model: estimates of the marginal likelihood, one file each."""
