"""How to choose what to try next."""
