"""The file that defines a problem: what it defines, and its drawing."""

from __future__ import annotations

import argparse
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from grisaille.errors import GrisailleError, ModelError, raised, shortened
from grisaille.views.cli.arguments import add_shared
from grisaille.views.cli.exit_codes import DONE

if TYPE_CHECKING:
    from grisaille.language.problem import Problem
    from grisaille.strategies.strategy import Strategy
    from grisaille.views.cli.arguments import Commands


@dataclass(frozen=True, slots=True)
class Definition:
    """The `problem` of a file, and its `strategy` if it has one."""

    problem: Problem
    strategy: Strategy | None


_MODULE = "grisaille_problem"


def load(file: Path) -> Definition:
    """Run a file and return what it defines; says on standard error which file is run."""
    from grisaille.checks import check_strategy
    from grisaille.language.problem import Problem

    shown = shortened(str(file))
    if file.suffix != ".py":
        raise ModelError(f"{shown} is not run: pass a Python file whose name ends in .py")
    if not is_file(file):
        raise ModelError(f"there is no file {shown}: pass a Python file that defines problem")
    names = _run(file)
    problem, strategy = names.get("problem"), names.get("strategy")
    if not isinstance(problem, Problem):
        found = f"an object of type {type(problem).__name__}"
        if problem is None:
            found = "nothing of that name"
        raise ModelError(
            f"{file} must define problem = gs.Problem(...) at its top level, found {found}"
        )
    if strategy is not None:
        check_strategy(f"{file} defines strategy = {shortened(strategy)}", strategy)
    return Definition(problem, strategy)


def is_file(path: Path) -> bool:
    """Whether there is a file; a path that is no path, or too long for one, names none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _run(file: Path) -> dict[str, Any]:
    print(f"grisaille: running {file.resolve()}", file=sys.stderr)
    # As when Python itself runs a file: files in its folder can be imported, also later.
    sys.path.insert(0, str(file.resolve().parent))
    module = ModuleType(_MODULE)
    module.__file__ = str(file)
    # Dataclasses look their module up. Later it must not be found, so that cloudpickle sends what
    # the file defines to child processes, which could not import it.
    sys.modules[_MODULE] = module
    try:
        # Python itself would also run an archive, which any file can have at its end.
        code = compile(file.read_bytes(), str(file), "exec", dont_inherit=True)
        exec(code, module.__dict__)
        return module.__dict__
    except (GrisailleError, KeyboardInterrupt):
        raise
    except SystemExit as stop:
        raise ModelError(
            f"{_place(file, stop)} ended itself with sys.exit({shortened(stop.code)}): a file that "
            "defines a problem must run to its end"
        ) from stop
    except BaseException as error:
        raise ModelError(f"{_place(file, error)} raised {raised(error)}") from error
    finally:
        sys.modules.pop(_MODULE, None)


def _place(file: Path, error: BaseException) -> str:
    """The line of the file that raised an error."""
    if isinstance(error, SyntaxError):
        return str(file)  # its message says where
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(file)]
    return f"{file}, line {lines[-1]}," if lines else str(file)


# --- diagram --------------------------------------------------------------------------------------
# The command that draws a problem: `diagram`.


def add_diagram(commands: Commands) -> None:
    """Add `diagram`."""
    diagram = commands.add_parser("diagram", help="draw the problem that a Python file defines")
    add_shared(diagram, "file")
    diagram.add_argument("--format", choices=("text", "mermaid", "dot"), default="text")
    diagram.set_defaults(run=_diagram)


def _diagram(options: argparse.Namespace) -> int:
    print(load(options.file).problem.diagram(options.format))
    return DONE
