"""Strategies side by side: every one on every known problem it applies to, from equal starts."""
