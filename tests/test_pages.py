"""Pages that are written to be followed from top to bottom: they print what they say."""

from __future__ import annotations

import ast
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from docs.builder.page_blocks import Step, as_notebook, is_executed, steps_of
from docs.builder.run_page import printed_by, with_output

import grisaille as gs
from tests.script_server import ScriptServer

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"

# Pages that the site runs say so themselves. These are only followed here: they take longer, or
# they need files and commands.
FOLLOWED = [
    "command_line",
    "curves",
    "discrete",
    "interoperation",
    "loops",
    "recipes/ask_and_tell_from_csv",
]
# The site runs this one, and that is enough: its proofs take longest.
LONG = ["certified"]
EXECUTED = sorted(
    file.relative_to(DOCS).with_suffix("").as_posix()
    for file in DOCS.rglob("*.md")
    if "generated" not in file.parts and is_executed(file.read_text(encoding="utf-8"))
)

# What must be said on every page that shows numbers of a run.
CAVEAT = re.compile(r"other\s+processors\]\((?:\.\./)?studies\.md#from-one-machine-to-another\)")

_DATE = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
# A line of a table of trials: which point is tried next can hang on the last bit of a sum.
_TRIAL = re.compile(
    r"^ *(?:\d+ +)?(?P<number>\d+) +(?:initial|own|data|complete|partial|broken|pending|narrowed"
    r"|recommended|optimistic|doubting|acquired) .*$",
    re.MULTILINE,
)
_NUMBER = re.compile(r"(?<![\w.])-?\d+\.?\d*(?:e[-+]?\d+)?")


def claimed(text: str) -> str:
    """What a text claims on any machine: no dates, and of each trial only that it was made."""
    return _TRIAL.sub(r"trial \g<number>", _DATE.sub("date", text))


def words(text: str) -> list[str]:
    return _NUMBER.sub("#", claimed(text)).split()


def numbers(text: str) -> list[float]:
    return [float(number) for number in _NUMBER.findall(claimed(text))]


@pytest.mark.slow
@pytest.mark.printed
@pytest.mark.parametrize("page", [*(page for page in EXECUTED if page not in LONG), *FOLLOWED])
def test_a_page_that_is_followed_prints_what_it_says(
    page: str, tmp_path: Path, scripts: ScriptServer
):
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    compare_with_what_is_printed(text, tmp_path, scripts)


@pytest.mark.slow
@pytest.mark.printed
def test_the_readme_runs_in_order_as_printed(tmp_path: Path, scripts: ScriptServer):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [step.kind for step in steps_of(text)] == ["run"] * text.count("```python\n")
    compare_with_what_is_printed(text, tmp_path, scripts)


def compare_with_what_is_printed(text: str, folder: Path, scripts: ScriptServer) -> None:
    for step, printed in printed_by(text, folder, scripts.run):
        if step.kind == "write" or step.printed is None:
            continue
        assert words(printed) == words(step.printed), step.text
        # Other processors and versions round otherwise, and a search then ends elsewhere.
        assert numbers(printed) == pytest.approx(numbers(step.printed), rel=0.02, abs=0.06)


@pytest.mark.parametrize("page", [*EXECUTED, *FOLLOWED])
def test_a_page_with_numbers_of_a_run_says_that_other_processors_round_otherwise(page: str):
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    printed = [step.printed for step in steps_of(text) if step.kind != "write" and step.printed]
    if any("==>" not in shown for shown in printed):  # more than the graph of a problem
        assert CAVEAT.search(text)


def test_of_a_table_of_trials_the_trials_count_and_not_where_they_were():
    here = "   trial     state   flow[0]\n4      5  complete  0.109802\nbest 3.00"
    there = "   trial     state   flow[0]\n4      5  complete  0.547675\nbest 3.01"
    assert words(here) == words(there)
    assert numbers(here) == pytest.approx(numbers(there), abs=0.06)
    assert numbers(here) != numbers(here.replace("      5", "      6"))


def test_the_first_hour_and_the_new_recipes_are_executed():
    expected = {"first_hour", "recipes/calibration", "recipes/costs", "recipes/noise"}
    assert expected <= set(EXECUTED)


PAGE = """# A page

<!-- executed -->

```python
print(1)
```

```text
2
```

```python
# oven.py
x = 1
```

```console
$ cat answers.csv
a,b
$ cat oven.py
y = 2
```
"""


def test_a_page_is_read_as_steps_and_a_file_shown_first_is_one_that_people_wrote():
    first, file, answers, shown = steps_of(PAGE)
    assert (first.kind, first.text, first.printed) == ("run", "print(1)\n", "2\n")
    assert (file.kind, file.name) == ("write", "oven.py")
    assert (answers.kind, answers.name, answers.text) == ("write", "answers.csv", "a,b\n")
    assert (shown.kind, shown.text, shown.printed) == ("command", "cat oven.py", "y = 2\n")


@pytest.mark.slow
def test_running_a_page_puts_what_was_printed_in_place_of_what_it_showed(
    tmp_path: Path, scripts: ScriptServer
):
    followed = printed_by(PAGE, tmp_path, scripts.run)
    new = with_output(PAGE, followed)
    assert "```text\n1\n```" in new
    assert "$ cat oven.py\n# oven.py\nx = 1\n```" in new
    assert with_output(new, printed_by(new, tmp_path, scripts.run)) == new


def test_what_a_block_starts_to_print_is_put_after_it(tmp_path: Path, scripts: ScriptServer):
    page = "```python\nprint(1)\n```\n\nText.\n"
    new = with_output(page, printed_by(page, tmp_path, scripts.run))
    assert new == "```python\nprint(1)\n```\n\n```text\n1\n```\n\nText.\n"


def test_an_error_on_a_page_is_not_passed_over(tmp_path: Path, scripts: ScriptServer):
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        printed_by("```python\n1 / 0\n```\n", tmp_path, scripts.run)


def test_a_notebook_runs_the_code_and_leaves_files_commands_and_old_output_alone():
    notebook = as_notebook(PAGE)
    assert notebook.startswith("---\nfile_format: mystnb\n")
    assert "```{code-cell} python3\nprint(1)\n```" in notebook
    assert "```text\n2" not in notebook
    assert "```python\n# oven.py" in notebook
    assert "$ cat oven.py\ny = 2" in notebook
    assert isinstance(steps_of(notebook)[0], Step)


def defined_on(page: str) -> dict[str, object]:
    """Return the names that a page defines without the reader's `problem` and `study`."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    code = "\n".join(step.text for step in steps_of(text) if step.kind == "run")
    kept = ast.Import | ast.ImportFrom | ast.ClassDef | ast.FunctionDef | ast.Assign
    names: dict[str, object] = {}
    for node in ast.parse(code).body:
        if isinstance(node, kept):
            with suppress(NameError):
                exec(compile(ast.Module([node], []), page, "exec"), names)
    return names


MODELS, STRATEGIES = defined_on("own_models"), defined_on("own_strategies")
OWN_BELIEFS = {
    "own kernel": {"kernel": MODELS["Periodic"](), "noise": 0},
    "own kernel in a sum": {"kernel": MODELS["Periodic"]() + gs.Linear(), "noise": 0},
    "product": {"kernel": MODELS["trend"], "noise": 0},
    "own model": {"model": MODELS["own_model"]},
}
OWN_KNOWN_PARTS = {
    "torch white box": lambda y, x: MODELS["storage"](y, x),
    "white box with gradient": lambda y, x: MODELS["energy"](x, y),
    "lambda": lambda y, x: gs.white_box(lambda y, x: y + x[0] ** 2, name="own")(y, x),
}
OWN_STRATEGIES = {
    "acquisition": gs.Acquisition(STRATEGIES["probability_of_improvement"]),
    "one line": gs.Acquisition(lambda known: lambda x: -known.predict(x)[0]),
    "strategy": STRATEGIES["EpsilonGreedy"](2),
    "solver": gs.Optimistic(solver=gs.Grid(9)),
    "default": None,
}
# Every two of them meet: the known parts go round while beliefs and strategies are crossed.
PAIRS = [
    (belief, list(OWN_KNOWN_PARTS)[(i + j) % len(OWN_KNOWN_PARTS)], strategy)
    for i, belief in enumerate(OWN_BELIEFS)
    for j, strategy in enumerate(OWN_STRATEGIES)
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Data")  # BoTorch's advice after one answer
@pytest.mark.parametrize(("belief", "known", "strategy"), PAIRS)
def test_own_things_of_the_pages_work_with_one_another(belief: str, known: str, strategy: str):
    x = gs.Variable("x", 2, lower=0, upper=2)
    f = gs.BlackBox(lambda x: np.sin(2 * x[0]) + 0.3 * x[1], name="f", **OWN_BELIEFS[belief])
    g = gs.BlackBox(lambda x: x[0] - x[1] ** 2, name="g", noise=0)
    problem = gs.Problem(minimize=OWN_KNOWN_PARTS[known](f(x), x), subject_to=[g(x) <= 1])
    study = gs.Study(problem, strategy=OWN_STRATEGIES[strategy], seed=0)
    study.run(3, progress=False)
    with ThreadPoolExecutor(2) as executor:  # then with pending trials, which count as predicted
        result = study.run(5, executor=executor, workers=2, progress=False)
    assert len(result.history) == 5
    assert "status" in str(result)
    assert len(study.predict(result.x)) == 1
    assert "black box 'f'" in repr(study.model("f"))
    assert study.replay(5).x.tolist() == study.history.trials[-1].suggestion.x.tolist()
