"""Bounds on known operations over a region: intervals and planes."""
