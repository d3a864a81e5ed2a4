"""What the problem is: expressions, black and white boxes, problems, programs."""
