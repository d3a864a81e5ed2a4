"""The made-up runs of the tests of the library's own tables."""

from tests.lab.comparison.conftest import results

__all__ = ["results"]
