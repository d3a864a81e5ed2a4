"""Search of a bounded space with inequalities. Solvers know no Gaussian process and no graph."""
