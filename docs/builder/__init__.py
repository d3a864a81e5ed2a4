"""What the documentation adds to Sphinx, and what checks its pages."""
