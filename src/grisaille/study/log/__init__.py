"""The log of a study: an append-only list of plain events."""
