"""Statements that hold with high probability: beliefs, bands, the plausible set."""
