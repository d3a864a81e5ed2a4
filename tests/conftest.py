"""Settings that every test shares."""

import torch
from hypothesis import settings

# One thread each, so that parallel test workers do not fight over the cores.
torch.set_num_threads(1)

# Repeatable, and never failed by a slow machine.
settings.register_profile("grisaille", deadline=None, derandomize=True)
settings.load_profile("grisaille")
