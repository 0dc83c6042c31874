# Each target makes the virtual environment it needs first. PYTHON chooses the interpreter, VENV the place.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo crowd-demo test test-all lint derived bench clean

demo: $(VENV)/.cli
	$(BIN)/modicum demo

crowd-demo: $(VENV)/.web
	$(BIN)/modicum crowd demo

# Workers share the cores: threads that wait must not spin.
test test-all: export OMP_WAIT_POLICY = passive

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto -m "not slow"

test-all: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

derived: $(VENV)/.dev
	$(BIN)/modicum papers > docs/papers.tmp && mv docs/papers.tmp docs/papers.md
	$(BIN)/python tests/golden/make.py

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/tables.py

$(VENV)/.%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[$*]"
	@touch $@

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

clean:
	rm -rf $(VENV) demo build dist .pytest_cache .mypy_cache .ruff_cache
