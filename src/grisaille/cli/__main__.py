"""`python -m grisaille.cli`."""

import sys

from grisaille.cli.main import main

sys.exit(main())
