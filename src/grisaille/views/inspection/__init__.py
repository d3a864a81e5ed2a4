"""Data for people to look at: predictions, learned models, slices, influence, convergence."""
