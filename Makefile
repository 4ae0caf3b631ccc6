# `make` alone lists the commands.
.DEFAULT_GOAL := help
PYTHON ?= python3.11
BIN := .venv/bin
STAMP := .venv/installed
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps

help:  ## List the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

# The lock is complete, and of some packages only files are read: no dependencies are looked for.
$(STAMP): requirements.lock requirements-torch.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) -r requirements-torch.lock
	$(INSTALL) --require-hashes -r requirements.lock
	$(INSTALL) --no-build-isolation -e .
	touch $@

install: $(STAMP)  ## Set up .venv with exact versions

format: $(STAMP)  ## Format the code
	$(BIN)/ruff format . && $(BIN)/ruff check --fix .

lint: $(STAMP)  ## Check format and lint
	$(BIN)/ruff format --check . && $(BIN)/ruff check .
	git ls-files | xargs $(BIN)/python tools/check_files.py

types: $(STAMP)  ## Check types
	$(BIN)/mypy

test: $(STAMP)  ## Set up and run the fast tests
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -n 2 -m "not slow and not browser"

test-all: $(STAMP)  ## Run all tests, the slow ones too
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -n 2 -m "not browser"

test-browser: $(STAMP)  ## Test the page of `convcnp app` in Chromium, which is installed or asked for
	tools/chromium.sh
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -m browser tests/project/test_browser.py

load: $(STAMP)  ## Ask the app's server 10,000 questions at once, and write results/load.json
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.load --out results/load.json

demo: $(STAMP)  ## Set up, fill the gaps of real series, and draw them into out/
	$(BIN)/python demo/demo.py

# OpenBLAS chooses its routines by the processor, unless the environment names an older one.
bench: $(STAMP)  ## Measure speed and memory as ratios, and write results/bench.json and its tables
	env -u OPENBLAS_CORETYPE OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks --out results/bench.json
	$(BIN)/python tools/update_tables.py

tables: $(STAMP)  ## Write the tables and excerpts of README and docs
	$(BIN)/python tools/update_tables.py

pictures: $(STAMP)  ## Draw the pictures of the guides by following them: some minutes
	OMP_NUM_THREADS=1 $(BIN)/python tools/draw_guides.py

docs: $(STAMP)  ## Build the documentation into site/; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

lock:  ## Write the versions installed in .venv, and their hashes, to the lock files
	$(BIN)/python -m pip freeze --exclude-editable | $(BIN)/python tools/lock.py

fuzz: $(STAMP)  ## Try a thousand hostile inputs on the commands: some minutes
	OMP_NUM_THREADS=1 $(BIN)/python tools/fuzz.py --cases 1000

sbom: $(STAMP)  ## Write a bill of materials and the licences into out/
	$(BIN)/python tools/sbom.py

check: lint types docs test  ## What continuous integration runs

.PHONY: help install format lint types test test-all test-browser load demo bench tables pictures docs lock fuzz sbom check
