"""Templates, filled in. Everything that comes from a study is escaped."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from grisaille.pages.assets import asset_address, style
from grisaille.pages.facts import number, shown


def render(template: str, **values: Any) -> str:
    """The text of a template."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("grisaille.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "shown": shown}
    environment.globals |= {"asset": asset_address, "style": Markup(style())}
    return environment
