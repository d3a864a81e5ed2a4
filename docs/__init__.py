"""The pages of the documentation, and what builds the site."""
