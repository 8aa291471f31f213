# make run: the main job on the bundled sample.  make test: the tests.  make check: format, lint, types, import rule and
# an audit of the locked packages.  make verified: every run that the tests make is made anew at its end.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: run test verified ui check bench docs lock clean

run: $(STAMP)
	@$(BIN)/eval-pipeline run extraction

test: $(STAMP)
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

verified: $(STAMP)
	@$(BIN)/python -m pytest -n 2 --dist loadfile --verify-runs tests/test_cli.py tests/studies/*/test_*command*.py \
		tests/studies/judge_calibration/test_re*.py tests/studies/judge_calibration/test_run.py tests/studies/test_*command*.py

ui: $(STAMP)
	@$(BIN)/eval-pipeline ui

check: $(STAMP)
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest tests/test_imports.py
	@$(BIN)/python scripts/audit_dependencies.py

bench: $(STAMP)
	@$(BIN)/python -m benchmarks.statistics.bootstraps
	@$(BIN)/python -m benchmarks.statistics.agreement
	@$(BIN)/python -m benchmarks.statistics.survival
	@$(BIN)/python -m benchmarks.statistics.permutation
	@$(BIN)/python benchmarks/chain.py
	@$(BIN)/python benchmarks/extraction_power.py
	@$(BIN)/python benchmarks/calls.py
	@$(BIN)/python -m benchmarks.correction
	@$(BIN)/python -m benchmarks.label_signal
	@$(BIN)/python -m benchmarks.scale
	@$(BIN)/python benchmarks/judging.py

# What is generated under docs/: the page of the command line, and the schemas of the formats.
docs: $(STAMP)
	@$(BIN)/python docs/reference/write.py

# Needs uv; writes hashes and no address of an index.
lock:
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-strip-extras \
		--all-extras --no-header pyproject.toml -o requirements.lock

clean:
	rm -rf $(VENV) .eval_pipeline

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "eval_pipeline needs Python 3.11 or newer; name one with make PYTHON=...")'
	@echo "installing into $(VENV), once"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(STAMP)
