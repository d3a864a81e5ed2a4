import inspect
import math
import os
import pickle
import shlex
import signal
import subprocess
import sys
import tempfile
import textwrap

import numpy as np
import pytest

import grisaille as gs
from grisaille.errors import EvaluationError, ModelError
from grisaille.study.evaluation.child_process import isolated
from grisaille.study.evaluation.command import command
from tests.interruptible import start_interruptible
from tests.study.evaluation.evaluation_helpers import is_gone, pids_in

pytestmark = pytest.mark.slow


@pytest.fixture
def program(tmp_path):
    """Writes a Python script and gives the words that run it; json, os and sys are imported."""

    def write(body):
        path = tmp_path / "a program.py"
        path.write_text("import json, os, sys\n" + textwrap.dedent(body))
        return f"{shlex.quote(sys.executable)} -S -E {shlex.quote(str(path))}"

    return write


HANGING = """
    import pathlib, subprocess, time
    sleeper = subprocess.Popen(["sleep", "600"])
    note = pathlib.Path(sys.argv[1], "note")
    note.write_text(f"{os.getpid()} {sleeper.pid}")
    note.rename(pathlib.Path(sys.argv[1], "pids"))
    time.sleep(600)
"""


def test_files_carry_scalars_and_arrays_in_and_numbers_out(program):
    words = program("""
        inputs = json.load(open(sys.argv[1]))
        assert list(inputs) == ["inputs"]
        scalar, vector, matrix = inputs["inputs"]
        print("chatter that is no answer")
        json.dump([scalar, vector[1], matrix[1][0]], open(sys.argv[2].partition("=")[2], "w"))
    """)
    answer = command(words + " {input} --to={output}")(0.1, np.array([1.0, 2.5]), np.eye(2))
    assert answer == [0.1, 2.5, 0.0]


def test_without_placeholders_the_standard_streams_carry_the_numbers(program):
    words = program("print(sum(json.load(sys.stdin)['inputs']))")
    assert command(words)(1.5, 2) == 3.5


def test_with_an_input_file_standard_input_is_empty(program):
    assert command(program("print(len(sys.stdin.read()))") + " {input}")(1.0) == 0


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        ("2", 2),
        ("[1, 2.5]", [1, 2.5]),
        ('{"outputs": [1, 2]}', [1, 2]),
        ('{"outputs": 3.0}', 3.0),
        ('{"drag": 1, "lift": 2}', {"drag": 1, "lift": 2}),
        ('{"outputs": 1, "lift": 2}', {"outputs": 1, "lift": 2}),
        ("Infinity", math.inf),
    ],
)
def test_answers_are_numbers_lists_or_named_outputs(written, answer):
    assert command(f"echo {shlex.quote(written).replace('{', '{{').replace('}', '}}')}")() == answer


def test_nan_is_passed_on():
    assert math.isnan(command("echo NaN")())


def test_the_temporary_folder_is_removed(program):
    words = program("json.dump({'in': sys.argv[1], 'out': sys.argv[2]}, open(sys.argv[2], 'w'))")
    paths = command(words + " {input} {output}")()
    assert os.path.dirname(paths["in"]) == os.path.dirname(paths["out"])
    assert not os.path.exists(os.path.dirname(paths["in"]))


def test_no_shell_expands_anything(program):
    words = program("json.dump({'words': sys.argv[1:]}, sys.stdout)")
    answer = command(words + " '$HOME' * | {{a}} 'two words'")()
    assert answer == {"words": ["$HOME", "*", "|", "{a}", "two words"]}


def test_the_program_runs_in_the_given_directory(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    simulate = tmp_path / "here" / "simulate"
    simulate.write_text('#!/bin/sh\necho "{\\"$(pwd)\\": 1}"\n')
    simulate.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    run = command("./simulate", directory="here")
    monkeypatch.chdir("/")
    assert run() == {str((tmp_path / "here").resolve()): 1}


def test_a_command_is_the_function_of_a_black_box(program):
    words = program("""
        x, (a, b) = json.load(open(sys.argv[1]))["inputs"]
        json.dump({"sum": x + a + b, "product": x * a * b}, open(sys.argv[2], "w"))
    """)
    box = gs.BlackBox(
        command(words + " {input} {output}"), name="simulate", outputs=["product", "sum"]
    )
    x = gs.Variable("x", shape=3, lower=0, upper=5)
    box(x[0], x[1:])
    assert box.evaluate(np.array([2.0, 3.0, 4.0])).tolist() == [24.0, 9.0]


def test_a_black_box_refuses_the_nan_of_a_program_by_its_own_name():
    box = gs.BlackBox(command("/bin/echo [NaN]"))
    box(gs.Variable("x", lower=0, upper=1))
    with pytest.raises(EvaluationError, match=r"black box 'echo' at 0\.5 returned \[nan\]"):
        box.evaluate(np.array([0.5]))


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("simulate {input}", "simulate"),
        ("/opt/my-flow/run-flow.sh -v", "run_flow"),
        ("'../a b' 1", "a_b"),
        ("python3.11 model.py", "python3"),
        ("...", "command"),
    ],
)
def test_a_command_is_named_after_its_program(template, name):
    assert command(template).__name__ == name
    assert gs.BlackBox(command(template)).name == name


def test_a_command_survives_pickling_and_shows_how_it_was_made(tmp_path):
    made = command("simulate {input}", directory=tmp_path)
    assert pickle.loads(pickle.dumps(made)) == made
    assert repr(made) == f"command('simulate {{input}}', directory={str(tmp_path)!r})"
    assert repr(command("simulate")) == "command('simulate')"


def test_a_command_takes_any_positional_arguments():
    signature = inspect.signature(command("simulate"))
    signature.bind(1, 2, 3)
    with pytest.raises(TypeError):
        signature.bind(x=1)


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        (["simulate", "{input}"], r"a command is written as text, got \['simulate'"),
        ("", "names no program"),
        ("  ", "names no program"),
        ("'' 1", "names no program"),
        ("simulate 'a", r"cannot be split into words \(no closing quotation\)"),
        ("simulate {inputs}", r"has the placeholder \{inputs\}: there are \{input\} and"),
        ("simulate {}", r"has the placeholder \{\}"),
        ("simulate {input:>5}", r"has the placeholder \{input:>5\}"),
        ("simulate {input!r}", r"has the placeholder \{input!r\}"),
        ("""simulate '{"a": 1}'""", r"write \{\{ and \}\} for braces that belong"),
        ("simulate {input", r"has a lone brace in '\{input'"),
    ],
)
def test_a_template_that_is_no_command_line_is_refused_at_once(template, sentence):
    with pytest.raises(ModelError, match=sentence):
        command(template)


def test_a_directory_that_is_not_there_is_refused_at_once(tmp_path):
    with pytest.raises(ModelError, match=r"nowhere', which is no folder: create it"):
        command("simulate", directory=tmp_path / "nowhere")


def test_a_directory_that_vanished_is_told(tmp_path):
    (tmp_path / "brief").mkdir()
    run = command("echo 1", directory=tmp_path / "brief")
    (tmp_path / "brief").rmdir()
    with pytest.raises(EvaluationError, match="which is no longer there"):
        run()


def test_a_program_that_is_not_there_is_told(tmp_path):
    with pytest.raises(EvaluationError, match="program 'simulat-e' was not found on PATH: correct"):
        command("simulat-e {input}")(1.0)
    with pytest.raises(EvaluationError, match=rf"was not found in '{tmp_path}'"):
        command("./simulate", directory=tmp_path)(1.0)


def test_a_file_that_is_no_program_is_told(tmp_path):
    (tmp_path / "simulate").write_text("echo 1")
    with pytest.raises(EvaluationError, match=r"cannot be started \(Permission denied\)"):
        command("./simulate", directory=tmp_path)()
    (tmp_path / "simulate").chmod(0o755)
    with pytest.raises(EvaluationError, match=r"cannot be started \(Exec format error\)"):
        command("./simulate", directory=tmp_path)()


def test_a_failing_program_is_told_with_its_last_words(program):
    words = program("""
        print("\\n".join(f"line {i}" for i in range(20)), file=sys.stderr)
        sys.exit(3)
    """)
    with pytest.raises(
        EvaluationError, match=r"ended with exit status 3; the end of its standard error:\nline 12"
    ) as caught:
        command(words)()
    assert "line 11" not in str(caught.value)
    assert str(caught.value).endswith("line 19")


def test_a_program_that_complains_on_standard_output_is_heard_too(program):
    with pytest.raises(EvaluationError, match=r"standard output:\nno convergence$"):
        command(program("print('no convergence'); sys.exit(1)") + " {output}")()
    with pytest.raises(EvaluationError, match=r"exit status 1 and printed nothing$"):
        command("false")()


def test_a_program_killed_by_a_signal_is_told(program):
    with pytest.raises(EvaluationError, match="was killed by signal SIGKILL"):
        command(program("os.kill(os.getpid(), 9)"))()


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        ("true {output}", r"left no file at the path given as \{output\}: it must write"),
        ("true", "wrote nothing to standard output: write a number"),
        ("touch {output}", r"wrote nothing to \{output\}"),
        ("echo result = 3", r"wrote 'result = 3' to standard output, which is not JSON \(Expect"),
        ("echo null", "wrote 'null' to standard output: write a number, a list of numbers"),
        ("echo true", "wrote 'true' to standard output: write a number"),
        ("""echo '{{"outputs": "no"}}'""", "to standard output: write a number"),
        (f"echo {'x' * 500}", f"wrote '{'x' * 80}…' to standard output, which"),
        (r"printf '\377\376\377'", "which is not JSON"),
    ],
)
def test_an_answer_that_is_no_json_number_is_told(template, sentence):
    with pytest.raises(EvaluationError, match=sentence):
        command(template)()


def test_arguments_that_are_no_real_numbers_are_told():
    with pytest.raises(EvaluationError, match="called with 'abc': pass finite real numbers"):
        command("echo 1")("abc")


def test_a_process_left_behind_neither_delays_the_answer_nor_survives_it(program):
    words = program("""
        import subprocess
        print(subprocess.Popen(["sleep", "600"]).pid)
    """)
    assert is_gone(command(words)())


def test_an_interrupted_program_is_killed_with_its_children(program, tmp_path):
    words = program(HANGING) + f" {shlex.quote(str(tmp_path))}"
    code = f"from grisaille.study.evaluation.command import command; command({words!r})()"
    caller = start_interruptible([sys.executable, "-c", code], stderr=subprocess.PIPE)
    with caller:
        pids = pids_in(tmp_path)
        caller.send_signal(signal.SIGINT)
        assert b"KeyboardInterrupt" in caller.stderr.read()
    assert all(is_gone(pid) for pid in pids)


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_a_program_ends_with_its_children_when_its_caller_is_killed(program, tmp_path, ending):
    words = program(HANGING) + f" {shlex.quote(str(tmp_path))}"
    code = f"from grisaille.study.evaluation.command import command; command({words!r})()"
    with subprocess.Popen([sys.executable, "-c", code]) as caller:
        pids = pids_in(tmp_path)
        caller.send_signal(ending)
    assert all(is_gone(pid) for pid in pids)


def test_a_program_that_hangs_is_killed_with_its_children(program, tmp_path, monkeypatch):
    hang = command(program(HANGING) + f" {shlex.quote(str(tmp_path))}")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with pytest.raises(EvaluationError, match="took longer than 3 s"):
        isolated(hang, (), 3)
    assert all(is_gone(pid) for pid in pids_in(tmp_path))
    assert not list(temporary.iterdir())


def test_an_isolated_command_gives_its_value():
    assert isolated(command("echo 4.5"), (), 60) == 4.5
