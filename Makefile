# make demo: from a fresh clone to the executed quickstart. make test: everything that the tests need, then all tests.
# PYTHON names the interpreter (3.11 or newer) for .venv; KBEVAL_TORCH another torch than the pinned one.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && exit; done; echo python3)
BIN := $(CURDIR)/.venv/bin
export PATH := $(BIN):$(PATH)
export PLAYWRIGHT_BROWSERS_PATH ?= $(CURDIR)/.venvs/browsers
DEMO := build/demo

.PHONY: demo test lint contract bench gpu-check setup

demo:
	@$(PYTHON) tools/bootstrap.py demo
	@mkdir -p $(DEMO) && cp notebooks/*.ipynb notebooks/*.py $(DEMO)
	$(BIN)/jupyter nbconvert --to notebook --execute --inplace --log-level WARN $(DEMO)/quickstart.ipynb
	@echo
	@echo "Executed: $(CURDIR)/$(DEMO)/quickstart.ipynb"
	@echo "Open it:  $(BIN)/jupyter lab $(DEMO)/quickstart.ipynb"

setup:
	@$(PYTHON) tools/bootstrap.py test

test: lint
	cd js && jlpm test
	$(BIN)/pytest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	cd js && jlpm check

# The JSON Schema and the TypeScript types, from the dataclasses; the page of options, from their table.
contract: setup
	$(BIN)/python -m kbeval_jupyter.model.schema
	$(BIN)/python -m tools.options_page

# Ratios measured side by side; fails when a promised bound is missed.
bench: setup
	$(BIN)/python -m benchmarks

# What only a GPU can show, under four minutes. Needs torch, numpy, triton and pytest, nothing else of ours: .venv where it is
# there, else any interpreter with these (make gpu-check PYTHON=python3). KBEVAL_GPU_CHECK=cpu checks the checks without a GPU.
gpu-check:
	$(if $(filter command line environment,$(origin PYTHON)),$(PYTHON),$(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON))) \
		-m pytest -c tests/gpu/runner_alone.ini -rs tests/gpu
