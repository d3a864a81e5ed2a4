"""The known problems of `lab`, under their public name."""

from grisaille.lab.problems import *  # noqa: F403
from grisaille.lab.problems import __all__ as __all__
