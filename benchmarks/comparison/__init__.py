"""Strategies side by side: each on every known problem it applies to, from the same start."""
