"""Promises of the theorems: beta, information gain, Lipschitz constants, regret bounds."""
