"""CH96: approximations of the marginal likelihood of naive Bayes models with a hidden root."""
