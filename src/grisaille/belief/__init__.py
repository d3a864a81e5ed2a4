"""What holds with high probability: beliefs about boxes, their bands, the plausible set."""
