"""The paper's experiment, run again: linear programs with embedded Gaussian processes."""
