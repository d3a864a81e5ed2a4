"""Known problems and comparisons of strategies."""
