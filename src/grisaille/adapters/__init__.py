"""Studies for other tools: tables, Optuna, generators."""
