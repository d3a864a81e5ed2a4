# `make demo`, `make test` and `make docs` do all the set-up they need on a machine with Python 3.11
# and pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test docs format lint types contracts tests quick elsewhere reproduce compare benchmarks browser package clean

demo: $(READY)
	$(BIN)/grisaille demo

test: format lint types contracts tests

$(READY): pyproject.toml constraints.txt
	@echo "Setting up $(VENV): a few minutes, once."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,docs]'
	touch $(READY)

format: $(READY)
	$(BIN)/ruff format --check .

lint: $(READY)
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

contracts: $(READY)
	$(BIN)/lint-imports

# Two tests at a time on two cores: threads of their own would only be in each other's way.
tests quick elsewhere docs: export OMP_NUM_THREADS = 1
# Compiled files make collecting tests twice as fast, also where they are switched off by default.
tests quick elsewhere docs: export PYTHONDONTWRITEBYTECODE =

tests: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadfile

# What to run while working on something: the checks, and the tests that take little time.
quick: format lint
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow" --quiet

# The same tests with the code of OpenBLAS and PyTorch for another type of processor: they do not
# depend on last bits. Where there is no other code, it is the same run again.
elsewhere: $(READY)
	OPENBLAS_CORETYPE=$$($(BIN)/python -m tests.other_processor) ATEN_CPU_CAPABILITY=default \
		$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow or printed" --quiet

# Runs every example and every executed page; a warning is an error. Then the site is checked: links,
# nothing that is fetched from elsewhere, every public name, every example with a picture.
docs: $(READY)
	$(BIN)/python -m sphinx -b html -W --keep-going docs build/docs
	$(BIN)/python -m docs.builder.check_site build/docs

reproduce: $(READY)
	$(BIN)/python -m benchmarks.reproduction

compare: $(READY)
	$(BIN)/python -m benchmarks.comparison
	$(BIN)/python -m benchmarks.comparison --collection held_out --folder compare/held_out

benchmarks: $(READY)
	$(BIN)/python -m benchmarks.convergence

# What the tests of pages need and pip does not bring; without it, they are skipped with a sentence.
browser:
	sh tests/views/page/install_browser.sh

# Builds the wheel and the sdist, and checks them from outside: see release/README.md.
package: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt build twine
	$(BIN)/python release/check_package.py

clean:
	rm -rf $(VENV) build dist docs/generated src/*.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
