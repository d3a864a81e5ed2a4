"""Wrong inputs: every argument of the interface, and every option of the command line."""
