"""A problem written as an easier one, and the way back."""
