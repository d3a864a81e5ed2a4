"""What happened: progress while it runs, tables and pictures afterwards."""
