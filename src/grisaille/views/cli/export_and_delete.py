"""Commands that export or delete a study: `export` and `delete`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grisaille.errors import ModelError, cut
from grisaille.study.log.address import masked
from grisaille.study.stored_studies import delete_study, read_study
from grisaille.views.cli.arguments import STUDY, add_shared
from grisaille.views.cli.exit_codes import DONE

if TYPE_CHECKING:
    from grisaille.views.cli.arguments import Commands


def add_commands(commands: Commands) -> None:
    """Add `export` and `delete`."""
    export = commands.add_parser("export", help="write a study as CSV, JSON or an Optuna study")
    add_shared(export, *STUDY)
    export.add_argument("--format", choices=("csv", "json"), help="default: csv")
    export.add_argument("--output", type=Path, metavar="FILE", help="default: standard output")
    export.add_argument(
        "--optuna", metavar="URL", help="write an Optuna study of that name into this database"
    )
    export.set_defaults(run=_export)

    delete = commands.add_parser("delete", help="remove a study and everything recorded of it")
    add_shared(delete, *STUDY)
    delete.add_argument("--yes", action="store_true", help="do not ask")
    delete.set_defaults(run=_delete)


def _export(options: argparse.Namespace) -> int:
    if options.optuna is not None and (options.format or options.output):
        raise ModelError("--optuna writes into a database: leave --format and --output out")
    state = read_study(options.storage, options.study).state
    if options.optuna is not None:
        from grisaille.adapters.optuna import export_optuna

        added = export_optuna(state, options.study, options.optuna)
        where = masked(options.optuna)
        print(f"Study {options.study!r} is in {where}, for Optuna: {added} trials added.")
        return DONE
    from grisaille.adapters.export import export_csv, export_json

    named = options.output is not None and options.output.suffix == ".json"
    if options.format == "json" or (options.format is None and named):
        text = json.dumps(export_json(state), indent=2) + "\n"
    else:
        text = export_csv(state)
    if options.output is None:
        sys.stdout.write(text)
        return DONE
    try:
        options.output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ModelError(f"--output {cut(str(options.output))}: {error.strerror}") from error
    print(f"Written: {options.output}")
    return DONE


def _delete(options: argparse.Namespace) -> int:
    what = _what_to_delete(options)
    if not options.yes:
        if not sys.stdin.isatty():
            raise ModelError(f"to delete {what} without being asked, pass --yes")
        if input(f"Delete {what}? [y/N] ").strip().lower() not in ("y", "yes"):
            print("Kept.")
            return DONE
    delete_study(options.storage, options.study)
    print(f"Deleted {what}.")
    return DONE


def _what_to_delete(options: argparse.Namespace) -> str:
    from grisaille.study.log.event_log import DamagedError

    try:
        stored = read_study(options.storage, options.study)
    except DamagedError:
        return f"the damaged study {options.study!r} from {masked(options.storage)}"
    counts = sum(stored.state.history().counts().values())
    return (
        f"study {stored.name!r} with {len(stored.state.trials)} trials and {counts} evaluations "
        f"from {stored.where}"
    )
