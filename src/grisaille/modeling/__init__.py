"""What the problem is: expressions, functions, problems and the programs they compile to."""
