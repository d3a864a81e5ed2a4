"""Problems and studies that commands name: loaded from a user's file, opened from storage."""

from __future__ import annotations

import argparse
import json
import socket
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from grisaille.errors import GrisailleError, ModelError, ProtocolError, printable, raised, shortened
from grisaille.study.log.address import masked
from grisaille.study.stored_studies import Stored, read_study
from grisaille.views.cli.arguments import add_shared
from grisaille.views.cli.exit_codes import DONE
from grisaille.views.user_folder import user_folder

if TYPE_CHECKING:
    from grisaille.language.problem import Problem
    from grisaille.strategies.strategy import Strategy
    from grisaille.study.study import Study
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
            f"{_place_of(file, stop)} ended itself with sys.exit({shortened(stop.code)}): "
            "a file that defines a problem must run to its end"
        ) from stop
    except BaseException as error:
        raise ModelError(f"{_place_of(file, error)} raised {raised(error)}") from error
    finally:
        sys.modules.pop(_MODULE, None)


def _place_of(file: Path, error: BaseException) -> str:
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


# --- remembered files -----------------------------------------------------------------------------
# The file that defines the problem of a study, as this user has said on this machine.
#
# A study names its file too, for people to read. Whoever can write to the database can write
# any name there, and to load a file is to run it. So only what is remembered here is run
# without `--file`.


def remember(storage: str, study: str, file: Path) -> None:
    """Remember the file of a study; says so on standard error if that is not possible."""
    if remembered(storage, study) == file.resolve():
        return
    line = json.dumps({**_key(storage, study), "file": str(file.resolve())})
    try:
        place = _place()
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # One short text at the end of the file: processes that write at once do not mix.
        with place.open("a", encoding="utf-8") as stream:
            stream.write(f"{line}\n")
    except (OSError, RuntimeError) as error:
        print(
            f"grisaille: {file} cannot be remembered for study {study!r} ({error}): pass --file "
            "next time, or name a folder you can write to in the environment variable "
            "XDG_CONFIG_HOME",
            file=sys.stderr,
        )


def remembered(storage: str, study: str) -> Path | None:
    """The file that was remembered last for a study; None if there is none."""
    try:
        lines = _place().read_text(encoding="utf-8", errors="replace").splitlines()
    except (OSError, RuntimeError):
        return None
    key = _key(storage, study)
    for line in reversed(lines):
        try:
            found = json.loads(line)
        except ValueError:  # a disk was full
            continue
        if isinstance(found, dict) and key.items() <= found.items() and "file" in found:
            return Path(str(found["file"]))
    return None


def _place() -> Path:
    """The file with what is remembered; raises RuntimeError if the user has no home."""
    return user_folder() / "problem_files.jsonl"


def _key(storage: str, study: str) -> dict[str, str]:
    """What identifies a study; several machines may share a home."""
    from sqlalchemy.engine import make_url

    url = make_url(storage)
    if url.get_backend_name() == "sqlite" and url.database:
        storage = f"sqlite:///{Path(url.database).resolve()}"
    return {"machine": socket.gethostname(), "storage": masked(storage), "study": study}


# --- open studies ---------------------------------------------------------------------------------
# Opening stored studies with their problems, to continue them.


def open_study(options: argparse.Namespace) -> Study:
    """A stored study with its problem, from `--file` or the file that is remembered for it.

    Args:
        options: With `study`, `storage`, `file`, and `allow_changes` where a command has it.
    """
    stored = read_study(options.storage, options.study)
    return make_study(load(options.file or _remembered_file(options.storage, stored)), options)


def make_study(definition: Definition, options: argparse.Namespace) -> Study:
    """The study of a name, new or stored, of the problem that a file defines.

    If the user has named the file in this call, it is remembered for the study.
    """
    from grisaille.study.study import Study

    try:
        study = Study(
            definition.problem,
            name=options.study,
            storage=options.storage,
            strategy=definition.strategy,
            seed=getattr(options, "seed", None),
            evaluation=getattr(options, "evaluation", None),
            allow_changes=getattr(options, "allow_changes", False),
        )
    except ProtocolError as error:  # in the words of the command line
        message = str(error).replace("allow_changes=True", "--allow-changes")
        raise ProtocolError(message) from error
    if study.changes:
        print(f"grisaille: {printable(study.changes)}", file=sys.stderr)
    if options.file is not None:
        remember(options.storage, options.study, options.file)
    return study


def _remembered_file(storage: str, stored: Stored) -> Path:
    file = remembered(storage, stored.name)
    if file is None:
        named = stored.state.settings.get("file")
        says = (
            "does not say which file defines its problem"
            if named is None
            else f"says that {str(named)!r} defines its problem, but you have not passed this file "
            "on this machine, and to load it is to run it"
        )
        raise ModelError(f"study {stored.name!r} {says}: pass a file that you trust with --file")
    if not is_file(file):
        raise ModelError(
            f"study {stored.name!r} was made from {file}, which is not on this machine: pass "
            "the file that defines its problem with --file"
        )
    return file
