"""Processes that tests interrupt."""

from __future__ import annotations

import signal
import subprocess
from typing import Any


def start_interruptible(call: list[Any], **options: Any) -> subprocess.Popen[Any]:
    """Start a process that SIGINT interrupts, also if this test run ignores SIGINT.

    A process inherits an ignored signal. Test runs in the background often ignore SIGINT, so the
    signal has a handler while the process starts.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(call, **options)
    finally:
        signal.signal(signal.SIGINT, before)
