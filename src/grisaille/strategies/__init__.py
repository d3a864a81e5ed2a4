"""Strategies: the choice of the next trial."""
