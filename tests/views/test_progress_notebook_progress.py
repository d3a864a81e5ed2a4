"""The live view of a notebook, with a shell that only pretends."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

import grisaille as gs
from grisaille.views import progress as notebook_progress
from grisaille.views.progress import NotebookTable, Row, kernel_shell
from tests.study.study_helpers import parabola

pytestmark = pytest.mark.slow


HEADERS = ["trial", "kind", "best feasible", "bound", "bound is", "gap", "violation", "seconds"]


class Display:
    """What was displayed, and how often it was updated."""

    def __init__(self) -> None:
        self.shown: list[Any] = []

    def __call__(self, content: Any, **_options: Any) -> Display:
        self.shown.append(content)
        return self

    def update(self, content: Any, **_options: Any) -> None:
        self.shown.append(content)


@pytest.fixture
def display(monkeypatch: pytest.MonkeyPatch) -> Display:
    """A display in place of IPython's; every change is drawn."""
    made = Display()
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=made))
    monkeypatch.setattr(
        notebook_progress, "PROGRESS", replace(notebook_progress.PROGRESS, pause=0.0)
    )
    return made


def row(trial: int, gap: float | None = 0.5) -> Row:
    return Row(trial, "<b>", 1.5, 1.0, "certified", gap, 0.0, {}, 12.3)


# ipykernel 6 reads no messages while a cell runs.
OLD_KERNEL = SimpleNamespace(kernel=SimpleNamespace())


def test_the_view_shows_the_gap_the_last_trials_and_what_is_going_on(display: Display):
    view = NotebookTable(OLD_KERNEL, [], HEADERS)
    view.open()
    assert "no trial is complete yet" in display.shown[-1]["text/plain"]
    for trial in range(1, 16):
        view.add(row(trial))
    view.note("trial 3 <broke> off")
    view.doing("evaluating <f>")
    shown = display.shown[-1]
    assert "best feasible 1.5, bound 1 (certified), gap 0.5, trial 15, 12 s" in shown["text/html"]
    assert shown["text/html"].count("<tr") == 11
    for text in ("trial 3 &lt;broke&gt; off", "evaluating &lt;f&gt;", "&lt;b&gt;"):
        assert text in shown["text/html"]
    assert shown["text/plain"].splitlines()[1].split()[:2] == ["trial", "kind"]
    assert view.shown_gap == 0.5
    view.close()
    assert "evaluating" not in display.shown[-1]["text/html"]


def test_a_bar_says_how_far_a_run_with_a_number_of_trials_is(display: Display):
    view = NotebookTable(OLD_KERNEL, [], HEADERS, trials=20)
    view.open()
    assert "width:0%" in display.shown[-1]["text/html"]
    view.add(row(5))
    assert "width:25%" in display.shown[-1]["text/html"]
    assert "trial 5 of 20" in display.shown[-1]["text/plain"]
    view.add(row(30))  # others may make trials, too
    assert "width:100%" in display.shown[-1]["text/html"]


def test_what_changes_quickly_is_not_drawn_each_time_but_the_last_state_is(
    display: Display, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        notebook_progress, "PROGRESS", replace(notebook_progress.PROGRESS, pause=3600.0)
    )
    view = NotebookTable(OLD_KERNEL, [], HEADERS)
    view.open()
    for trial in range(1, 100):
        view.add(row(trial))
    assert len(display.shown) <= 2
    view.close()
    assert "trial 99" in display.shown[-1]["text/html"]


def test_a_kernel_that_cannot_hear_a_click_gets_no_button(display: Display):
    view = NotebookTable(OLD_KERNEL, [], HEADERS)
    view.open()
    assert len(display.shown) == 1
    assert not view.stop_requested


def test_a_missing_widget_library_leaves_the_button_out(
    display: Display, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    new_kernel = SimpleNamespace(kernel=SimpleNamespace(shell_channel_thread=object()))
    view = NotebookTable(new_kernel, [], HEADERS)
    view.open()
    assert len(display.shown) == 1


class Button:
    """A button of a widget library."""

    def __init__(self, **_options: Any) -> None:
        self.comm = SimpleNamespace(_reply_subshell_for=lambda _data, default: default)
        self.closed = False

    def on_click(self, call: Any) -> None:
        self.click = call

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("early", [True, False])
def test_a_click_is_heard_when_it_arrives_and_when_it_is_handled(
    display: Display, monkeypatch: pytest.MonkeyPatch, early: bool
):
    monkeypatch.setitem(sys.modules, "ipywidgets", SimpleNamespace(Button=Button))
    new_kernel = SimpleNamespace(kernel=SimpleNamespace(shell_channel_thread=object()))
    view = NotebookTable(new_kernel, [], HEADERS)
    view.open()
    button = display.shown[0]
    assert button.comm._reply_subshell_for({"method": "echo_update"}, "main") == "main"
    assert not view.stop_requested
    if early:
        click = {"method": "custom", "content": {"event": "click"}}
        assert button.comm._reply_subshell_for(click, "main") == "main"
    else:
        button.click(button)
    assert view.stop_requested
    view.doing("trial 3: evaluating f")
    assert "evaluating f (stops after this)" in display.shown[-1]["text/html"]
    view.close()
    assert {"text/html": "", "text/plain": ""} in display.shown


def test_a_button_that_was_not_pressed_is_closed(display: Display, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", SimpleNamespace(Button=Button))
    new_kernel = SimpleNamespace(kernel=SimpleNamespace(shell_channel_thread=object()))
    view = NotebookTable(new_kernel, [], HEADERS)
    view.open()
    view.close()
    assert display.shown[0].closed


def test_outside_of_a_kernel_there_is_no_shell(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert kernel_shell() is None
    for shell in (None, SimpleNamespace(kernel=None), SimpleNamespace()):
        fake = SimpleNamespace(get_ipython=lambda shell=shell: shell)
        monkeypatch.setitem(sys.modules, "IPython", fake)
        assert kernel_shell() is None


@pytest.mark.parametrize("progress", [True, None])
def test_a_run_in_a_kernel_is_shown_by_this_view_and_goes_on_when_it_fails(
    monkeypatch: pytest.MonkeyPatch, display: Display, capsys, progress: bool | None
):
    monkeypatch.setattr(notebook_progress, "kernel_shell", lambda: OLD_KERNEL)
    result = parabola().solve(3, strategy=gs.RandomSearch(), progress=progress)
    assert "trial 3" in display.shown[-1]["text/html"]
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(Display, "update", lambda *_args, **_options: 1 / 0)
    result = parabola().solve(3, strategy=gs.RandomSearch(), progress=progress)
    assert result.nit == 3
    assert "the view was switched off: ZeroDivisionError" in result.message
