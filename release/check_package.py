"""Build the wheel and the sdist, and check them as somebody sees them who has no checkout.

Run `make package`. Each step stops the script with a sentence if it fails:

1. The wheel is built from the sdist, both in `dist/`, and `twine check --strict` accepts them.
2. The wheel holds every file of `src/grisaille` and nothing else; the sdist holds what one needs to
   test it.
3. The wheel is installed into an empty environment outside the checkout. The first example of the
   README runs there, and so do `grisaille --help` and a short `grisaille demo`.
4. `mypy --strict` finds the types of the installed package.
5. The sdist is installed over it, and answers with the same version.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
CONSTRAINTS = ROOT / "constraints.txt"

# What somebody needs who tests, packages or cites the library from its sdist.
IN_THE_SDIST = (
    "CHANGELOG.md",
    "CITATION.cff",
    "LICENSE",
    "Makefile",
    "README.md",
    "SECURITY.md",
    "constraints.txt",
    "pyproject.toml",
    "benchmarks/convergence.py",
    "docs/versioning.md",
    "examples/first.py",
    "tests/conftest.py",
    "tests/study/stored/study_0_1.db",
)
MOST_MEGABYTES = 8

# `reveal_type` prints what mypy found; "Any" would mean that py.typed is missing or not seen.
TYPED_SCRIPT = """\
import grisaille as gs

reveal_type(gs.Problem)
x = gs.Variable("x", lower=0, upper=1)
reveal_type(x)
reveal_type(gs.Problem(minimize=x).solve)
"""


def main() -> None:
    """Build, check and try the package."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    wheel, sdist = build(version)
    run("twine check", [sys.executable, "-m", "twine", "check", "--strict", wheel, sdist])
    check_wheel(wheel)
    check_sdist(sdist, version)
    with tempfile.TemporaryDirectory(prefix="grisaille-package-") as folder:
        python = empty_environment(Path(folder))
        install(python, "torch")
        install(python, wheel, "mypy")
        try_commands(python, version)
        try_first_example(python)
        check_types(python)
        # Its dependencies are there already: only the sdist's own build is tried.
        install(python, "--force-reinstall", "--no-deps", sdist)
        expect_version(python, version)
    print(f"\nBuilt and checked: {wheel.name} and {sdist.name}, in dist/.")


def build(version: str) -> tuple[Path, Path]:
    """Make the sdist, and the wheel from the sdist."""
    shutil.rmtree(DIST, ignore_errors=True)
    run("build", [sys.executable, "-m", "build", "--outdir", DIST, ROOT])
    return DIST / f"grisaille-{version}-py3-none-any.whl", DIST / f"grisaille-{version}.tar.gz"


def check_wheel(wheel: Path) -> None:
    """Stop unless the wheel holds exactly the files of `src/grisaille`."""
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    source = ROOT / "src"
    files = {
        path.relative_to(source).as_posix()
        for path in (source / "grisaille").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    if missing := sorted(files - held):
        sys.exit(f"The wheel misses {missing}: add a pattern to package-data in pyproject.toml.")
    if unknown := sorted(held - files):
        sys.exit(f"The wheel holds {unknown}, which src/grisaille does not.")
    if "grisaille/py.typed" not in held:
        sys.exit("The wheel has no grisaille/py.typed: type checkers would not see its types.")
    print(f"{wheel.name}: {len(held)} files")


def check_sdist(sdist: Path, version: str) -> None:
    """Stop unless the sdist holds tests and documents, and is not large."""
    with tarfile.open(sdist) as archive:
        held = {name.removeprefix(f"grisaille-{version}/") for name in archive.getnames()}
    if missing := [name for name in IN_THE_SDIST if name not in held]:
        sys.exit(f"The sdist misses {missing}: see MANIFEST.in.")
    megabytes = sdist.stat().st_size / 1e6
    if megabytes > MOST_MEGABYTES:
        sys.exit(f"The sdist has {megabytes:.1f} MB, more than {MOST_MEGABYTES}: see MANIFEST.in.")
    print(f"{sdist.name}: {len(held)} entries, {megabytes:.1f} MB")


def empty_environment(folder: Path) -> Path:
    """Make a virtual environment with nothing but pip, and return its Python."""
    venv.create(folder / "environment", with_pip=True)
    return folder / "environment" / "bin" / "python"


def install(python: Path, *what: str | Path) -> None:
    """Install with the pinned versions, so that PyTorch comes without files for a GPU."""
    command = [python, "-m", "pip", "install", "--quiet", "--constraint", CONSTRAINTS, *what]
    run(f"install {' '.join(Path(name).name for name in what)}", command, python.parents[2])


def try_commands(python: Path, version: str) -> None:
    """The installed command answers, and the demonstration finds a feasible point."""
    expect_version(python, version)
    command = python.with_name("grisaille")
    run("grisaille --help", [command, "--help"], python.parents[2])
    demo = [command, "demo", "--trials", "8", "--quiet"]
    run("grisaille demo", demo, python.parents[2])


def expect_version(python: Path, version: str) -> None:
    """Stop unless the command says which version it is."""
    said = run(
        "grisaille --version", [python.with_name("grisaille"), "--version"], python.parents[2]
    )
    if said.strip() != f"grisaille {version}":
        sys.exit(f"grisaille --version says {said.strip()!r}; pyproject.toml says {version!r}.")


def try_first_example(python: Path) -> None:
    """The README's first block of Python runs as it stands."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    code = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)[0]
    said = run("the README's first example", [python, "-W", "error", "-c", code], python.parents[2])
    if "optimum in" not in said:
        sys.exit(f"The README's first example printed no result, but {said!r}.")


def check_types(python: Path) -> None:
    """Mypy sees the types of the installed package."""
    folder = python.parents[2]
    (folder / "typed.py").write_text(TYPED_SCRIPT)
    said = run("mypy --strict", [python, "-m", "mypy", "--strict", "typed.py"], folder)
    revealed = re.findall(r'Revealed type is "(.*)"', said)
    if len(revealed) != 3 or "Any" in revealed or "grisaille.language.problem.Problem" not in said:
        sys.exit(f"mypy does not see the types of the installed package. It says:\n{said}")
    print("\n".join(f"  {kind[:100]}" for kind in revealed))


def run(step: str, command: list[str | Path], folder: Path = ROOT) -> str:
    """Run a command where no checkout is on Python's path; stop if it fails."""
    print(f"- {step}", flush=True)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**environment, "MPLBACKEND": "agg"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{step} ended with exit code {done.returncode}:\n{done.stdout}")
    return done.stdout


if __name__ == "__main__":
    main()
