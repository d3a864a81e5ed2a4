"""What branch and bound certifies, how often, and how fast."""
