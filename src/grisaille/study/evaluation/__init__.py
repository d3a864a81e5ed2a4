"""Evaluation of black boxes: in this process, in child processes, by programs or executors."""
