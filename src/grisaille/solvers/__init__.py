"""Search of a box with inequalities; knows no Gaussian process and no graph."""
