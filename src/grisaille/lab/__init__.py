"""Who is better: known problems and comparisons of strategies."""
