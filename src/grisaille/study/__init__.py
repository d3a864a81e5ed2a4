"""The loop: suggest, evaluate, remember, stop, report."""
