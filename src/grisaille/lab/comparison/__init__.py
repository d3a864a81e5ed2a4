"""Strategies side by side on the same problems: `compare`, its runs, tables and figures."""
