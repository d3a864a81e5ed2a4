"""The command line, as a person uses it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from grisaille.views.cli import main

pytestmark = pytest.mark.slow


PROBLEM = """
    import grisaille as gs

    x = gs.Variable("x", lower=-1, upper=1)
    f = gs.BlackBox(lambda x: x**2, name="f", noise=0)
    problem = gs.Problem(minimize=f(x))
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(textwrap.dedent(PROBLEM))
    return path


def test_solve_prints_the_answer_and_saves_the_picture(file: Path, tmp_path: Path, capsys):
    picture = tmp_path / "picture.png"
    code = main(["solve", str(file), "--trials", "4", "--quiet", "--plot", str(picture)])
    out = capsys.readouterr().out
    assert code == 0
    assert "minimum" in out
    assert picture.exists()


def test_diagram_draws_every_format(file: Path, capsys):
    for name, mark in (("text", "███"), ("mermaid", "flowchart"), ("dot", "digraph")):
        assert main(["diagram", str(file), "--format", name]) == 0
        assert mark in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "message"),
    [("answer = 42", "nothing of that name"), ("problem = 42", "found an object of type int")],
)
def test_a_file_without_a_problem_is_refused(tmp_path: Path, capsys, content: str, message: str):
    path = tmp_path / "model.py"
    path.write_text(content)
    assert main(["solve", str(path)]) == 2
    assert message in capsys.readouterr().err


def test_a_missing_file_is_refused(capsys):
    assert main(["solve", "nowhere.py"]) == 2
    assert "no file 'nowhere.py'" in capsys.readouterr().err


def test_a_box_that_fails_here_and_there_is_reported(tmp_path: Path, capsys):
    path = tmp_path / "model.py"
    text = textwrap.dedent(PROBLEM).replace("lambda x: x**2", "lambda x: 1 / 0 if x > 0 else x")
    path.write_text(text)
    assert main(["solve", str(path), "--trials", "4", "--quiet"]) == 0
    assert "raised ZeroDivisionError" in capsys.readouterr().out


def test_a_failing_box_exits_with_3_and_shows_what_was_evaluated(tmp_path: Path, capsys):
    path = tmp_path / "model.py"
    text = textwrap.dedent(PROBLEM).replace("lambda x: x**2", "lambda x: x if seen.pop() else 1")
    path.write_text(f"seen = [1, 1]\n{text}")
    assert main(["solve", str(path), "--trials", "20", "--quiet"]) == 3
    error = capsys.readouterr().err
    assert "10 trials in a row failed" in error
    assert "'f' at" in error
    assert "f 2 in 2 trials" in error


def test_an_error_of_the_users_own_code_exits_with_3_and_shows_what_was_evaluated(file, capsys):
    file.write_text(
        file.read_text()
        + "class Own(gs.RandomSearch):\n"
        + "    def suggest(self, situation):\n"
        + "        if len(situation.history) == 2:\n"
        + "            raise LookupError('no more ideas')\n"
        + "        return super().suggest(situation)\n"
        + "strategy = Own()\n"
    )
    assert main(["solve", str(file), "--trials", "20", "--quiet"]) == 3
    error = capsys.readouterr().err
    assert "Traceback" in error
    assert "LookupError: no more ideas\n" in error
    assert "grisaille: strategy Own raised LookupError: no more ideas (model.py, line" in error
    assert "f 2 in 2 trials" in error


def test_a_terminal_does_not_obey_what_a_box_says(tmp_path: Path, capsys):
    path = tmp_path / "model.py"
    text = textwrap.dedent(PROBLEM).replace("lambda x: x**2", "fails")
    path.write_text("def fails(x):\n    raise ValueError('\\x1b[2Jgone')\n" + text)
    place = f"sqlite:///{tmp_path}/studies.db"
    stored = ["--study", "toy", "--storage", place]
    assert main(["solve", str(path), *stored, "--trials", "20", "--quiet"]) == 3
    assert main(["show", "toy", "--storage", place]) == 0
    for shown in capsys.readouterr():
        assert "\x1b" not in shown
        assert "\\x1b[2Jgone" in shown


def test_the_demo_ends_with_the_answer_in_the_users_units(tmp_path: Path, capsys):
    picture = tmp_path / "demo.png"
    assert main(["demo", "--trials", "4", "--quiet", "--plot", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "kg/s of B at" in out
    assert "$/s" in out
    assert picture.exists()


def test_help_does_not_wait_for_pytorch():
    code = (
        "import sys\n"
        "from grisaille.views.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "assert not {'torch', 'numpy', 'scipy', 'matplotlib', 'pint'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "diagram" in done.stdout


def test_the_version_is_printed(capsys):
    from grisaille import __version__

    assert main(["--version"]) == 0
    assert __version__ in capsys.readouterr().out


def test_a_bare_call_prints_the_help(capsys):
    assert main([]) == 0
    assert "commands" in capsys.readouterr().out


def test_an_unknown_command_is_refused(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["sovle"])
    assert stopped.value.code == 2
    assert "invalid choice: 'sovle'" in capsys.readouterr().err


ADDRESS = "postgresql+psycopg://lab:s3cret@127.0.0.1:1/x"


@pytest.mark.parametrize(
    "call",
    [
        ["show", ADDRESS],
        ["show", "toy", "--storage", ADDRESS],
        ["show", "toy", ADDRESS],
        ["solve", ADDRESS],
        ["status", "--json", ADDRESS, "--last", "3"],
        ["delete", ADDRESS, "--yes"],
    ],
)
def test_an_address_at_any_place_of_a_call_is_repeated_without_its_password(
    tmp_path: Path, monkeypatch, capsys, call
):
    monkeypatch.chdir(tmp_path)
    try:
        code = main(call)
    except SystemExit as stopped:
        code = stopped.code
    assert code in (2, 3)
    assert "s3cret" not in capsys.readouterr().err
