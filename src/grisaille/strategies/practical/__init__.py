"""What the default adds to the paper's algorithm."""
