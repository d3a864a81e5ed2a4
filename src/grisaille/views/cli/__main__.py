"""`python -m grisaille.views.cli`."""

from __future__ import annotations

import sys

from grisaille.views.cli.main import main

sys.exit(main())
