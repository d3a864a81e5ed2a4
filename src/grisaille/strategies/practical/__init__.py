"""The steps that the default adds to the paper's algorithm."""
