"""Independent references: what others would do on the same data, written with BoTorch alone."""
