"""Where trials live: an append-only log of plain events per study."""
