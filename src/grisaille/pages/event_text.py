"""What happened at an event, in a few words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grisaille.errors import counted, cut
from grisaille.storage.event_log import Event, Kind

_MOST_NUMBERS = 6


def event_text(event: Event) -> str:
    """What happened, for people to read."""
    data = event.data
    match event.kind:
        case Kind.CREATED:
            return f"the study was created with {data['strategy']}, seed {data['seed']}"
        case Kind.CHANGED:
            return f"settings: {', '.join(sorted(data))}"
        case Kind.SUGGESTED:
            suggestion = data["suggestion"]
            return f"trial {data['trial']} ({suggestion['kind']}) at {_numbers(suggestion['x'])}"
        case Kind.ASKED:
            return f"question {data['query']} was given to {data['holder'] or 'somebody who asked'}"
        case Kind.TOLD:
            return f"question {data['query']} was answered: {_numbers(data['outputs'])}"
        case Kind.READY:
            return f"trial {data['trial']} asks {counted(len(data['ready']), 'more question')}"
        case Kind.FAILED:
            lost = "was lost" if data["lost"] else "failed"
            return f"question {data['query']} {lost}: {cut(data['reason'])}"
        case Kind.RELEASED:
            return f"question {data['query']} was given back"
        case Kind.OBSERVED:
            return f"{counted(len(data['inputs']), 'answer')} of {data['box']} from elsewhere"
        case Kind.COMPLETED:
            return f"trial {data['trial']} is complete"
        case Kind.ABANDONED:
            return f"trial {data['trial']} broke off: {cut(data['reason'])}"
        case Kind.MOVED:
            return f"trial {data['trial']} was moved to {_numbers(data['x'])}"
        case Kind.CORRECTED:
            return f"answer {data['answer']} was corrected: {_numbers(data['outputs'])}"
        case Kind.RETRACTED:
            return f"answer {data['answer']} was taken back: {cut(data['reason'])}"
        case Kind.REOPENED:
            return f"trial {data['trial']} is asked again"
        case Kind.ASSEMBLED:
            return f"{counted(len(data['trials']), 'trial')} made of observed rows"


def _numbers(values: Sequence[Any]) -> str:
    """Numbers in brackets; the first ones if they are many."""
    texts = [f"{v:.5g}" if isinstance(v, int | float) else str(v) for v in values[:_MOST_NUMBERS]]
    more = ["..."] if len(values) > _MOST_NUMBERS else []
    return f"[{', '.join([*texts, *more])}]"
