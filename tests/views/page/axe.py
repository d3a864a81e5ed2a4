"""Axe-core looks for what people with disabilities could not use."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

SOURCE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
GRAVE = ("serious", "critical")


@dataclass(frozen=True)
class Violation:
    """A rule that some elements of a page break."""

    rule: str
    impact: str
    help: str
    elements: tuple[str, ...]


def grave_violations(page: Page) -> list[Violation]:
    """The serious and critical violations on a page as it is now.

    The developer tools run axe-core inside the page: its Content-Security-Policy stays as it is,
    and does not apply to them.
    """
    session = page.context.new_cdp_session(page)
    try:
        _evaluate(session, SOURCE.read_text(encoding="utf-8") + "\n;0")
        found = json.loads(
            _evaluate(session, "axe.run().then(found => JSON.stringify(found.violations))")
        )
    finally:
        session.detach()
    return [
        Violation(
            rule=one["id"],
            impact=one["impact"],
            help=one["help"],
            elements=tuple(node["html"] for node in one["nodes"]),
        )
        for one in found
        if one["impact"] in GRAVE
    ]


def _evaluate(session, expression: str) -> str:
    answer = session.send(
        "Runtime.evaluate",
        {"expression": expression, "awaitPromise": True, "returnByValue": True},
    )
    if "exceptionDetails" in answer:
        raise RuntimeError(f"axe-core raised: {answer['exceptionDetails']}")
    return answer["result"].get("value", "")
