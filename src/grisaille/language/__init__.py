"""The language of problems: expressions, black and white boxes, problems, programs."""
