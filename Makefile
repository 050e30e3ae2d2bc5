# Every command a developer needs. `make` alone lists them. Nothing is installed outside $(VENV).
.DEFAULT_GOAL := help
SHELL := /bin/sh
MAKEFLAGS += --no-print-directory

VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input -qq
# Arguments for the command behind a target: make demo ARGS=--json, make test-unit ARGS="-k backoff".
ARGS ?=
# Parallel test processes: one for each core without waiting on I/O, two where each test starts processes of its own.
JOBS ?= auto
HEAVY_JOBS ?= 2

LIGHT_TESTS := $(wildcard tests/unit tests/contract tests/integration)
HEAVY_TESTS := $(wildcard tests/acceptance tests/faults)
# A module is run by one process, which shares its servers; the longest first, as tests/conftest.py sorts them.
HEAVY := --dist loadscope --no-loadscope-reorder
# Without this plugin (and Docker's client behind it) a unit test run starts a second earlier.
NO_CELERY_PLUGIN := -p no:celery -p no:docker_tools

# A process that may not write bytecode compiles every import again: three seconds for each worker.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

## Install ------------------------------------------------------------------------------------------

.PHONY: install install-runtime
install: $(VENV)/.installed-dev ## Install everything, locked, into .venv (quick the second time)
install-runtime: $(VENV)/.installed-runtime ## Install only what runs, locked, into .venv

# Takes the first Python >= 3.11 that can make environments; $PYTHON goes first.
$(BIN)/python:
	@for python in $${PYTHON:-} python3 python3.13 python3.12 python3.11 python3.14 python; do \
	  "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || continue; \
	  found=$$python; \
	  "$$python" -c 'import ensurepip, venv' >/dev/null 2>&1 || continue; \
	  exec "$$python" -m venv $(VENV); \
	done; \
	if [ -n "$${found:-}" ]; then \
	  echo "make: $$found cannot make virtual environments: install its venv module (Debian, Ubuntu: apt-get install python3-venv)." >&2; \
	else \
	  echo "make: no Python 3.11 or newer found: install one, or name it with PYTHON=/path/to/python3 make ..." >&2; \
	fi; exit 1

$(VENV)/.installed-dev: requirements/dev.txt pyproject.toml | $(BIN)/python
	@echo "Installing the locked packages into $(VENV) ..." >&2
	@$(PIP) install --require-hashes -r requirements/dev.txt >&2
	@$(PIP) install --no-deps --no-build-isolation --editable . >&2
	@touch $(VENV)/.installed-runtime $@

$(VENV)/.installed-runtime: requirements/runtime.txt requirements/build.txt pyproject.toml | $(BIN)/python
	@echo "Installing the locked packages into $(VENV) ..." >&2
	@$(PIP) install --require-hashes -r requirements/runtime.txt -r requirements/build.txt >&2
	@$(PIP) install --no-deps --no-build-isolation --editable . >&2
	@touch $@

## Use ----------------------------------------------------------------------------------------------

.PHONY: demo bench bench-archive bench-classify bench-history bench-staleness screenshots
demo: install-runtime ## Run the examples on embedded servers and show what happens (ARGS=--json)
	@$(BIN)/remand demo $(ARGS)

demo-outage: install-runtime ## Take a service down under load, without breakers and with them (ARGS=--json)
	@$(BIN)/remand demo-outage $(ARGS)

bench: install ## Measure throughput, latency and rescue; prints one JSON line last
	@$(BIN)/python -m tests.benchmarks $(ARGS)

bench-classify: install ## Measure the classifier: time, growth, accuracy; prints one JSON line last
	@$(BIN)/python -m tests.benchmarks.classify $(ARGS)

bench-redrive: install ## Measure bulk requeueing against one by one; prints one JSON line last
	@$(BIN)/python -m tests.benchmarks.redrive $(ARGS)

bench-dlq-api: install ## Measure the API on a million dead letters; prints one JSON line last
	@$(BIN)/python -m tests.benchmarks.dlq_api $(ARGS)

bench-archive: install ## Measure the archive: a month whole, and in batches; prints one JSON line last
	@$(BIN)/python -m tests.benchmarks.archive $(ARGS)

bench-history: install ## Measure steps beside millions of finished workflows; prints one JSON line last
	@$(BIN)/python -m tests.benchmarks.history $(ARGS)

bench-staleness: install ## Measure the stale sweep among a million live workflows; prints one JSON line last
	@$(BIN)/python -m tests.benchmarks.staleness $(ARGS)

screenshots: install ## Take the docs' pictures of the dashboard (needs Chromium)
	@$(BIN)/python -m tests.support.screenshots $(ARGS)

## Test ---------------------------------------------------------------------------------------------

.PHONY: test test-light test-heavy test-unit test-libraries
.PHONY: test-services test-services-light test-services-heavy test-broker chaos services-named
test: ## Run the whole suite, on embedded servers unless REMAND_TEST_* name others
	@status=0; $(MAKE) test-light || status=1; $(MAKE) test-heavy || status=1; exit $$status

test-light: install
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadscope $(LIGHT_TESTS) $(ARGS)

test-heavy: install
	@$(BIN)/python -m pytest -n $(HEAVY_JOBS) $(HEAVY) $(HEAVY_TESTS) $(ARGS)

test-unit: install ## Run the unit tests only (seconds)
	@$(BIN)/python -m pytest $(NO_CELERY_PLUGIN) tests/unit $(ARGS)

test-services: ## Integration and acceptance on REMAND_TEST_DATABASE_URL, REMAND_TEST_BROKER_URL
	@status=0; $(MAKE) test-services-light || status=1; $(MAKE) test-services-heavy || status=1; exit $$status

# What asks for neither of the two servers brings its own, and has run in `make test`.
test-services-light: install services-named
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadscope -m "servers and not once" tests/integration $(ARGS)

test-services-heavy: install services-named
	@$(BIN)/python -m pytest -n $(HEAVY_JOBS) $(HEAVY) -m "servers and not once" tests/acceptance $(ARGS)

test-broker: install services-named ## Only what needs a broker: a further one on a database that is tested
	@$(BIN)/python -m pytest -n $(HEAVY_JOBS) $(HEAVY) -m "broker and not once" tests/integration tests/acceptance tests/faults/test_chaos.py $(ARGS)

chaos: install ## Thousands of workflows under random faults (ARGS="--minutes 10 --broker rabbitmq"); one JSON line last
	@$(BIN)/python -m tests.chaos $(ARGS)

services-named:
	@: "$${REMAND_TEST_DATABASE_URL:?name the PostgreSQL server to test on}" \
	   "$${REMAND_TEST_BROKER_URL:?name the broker to test on}"

# The libraries the classifier knows are not the product's: they live in an environment of their own.
CORPUS := .venv-corpus
test-libraries: $(CORPUS)/.installed ## The classifier on real exceptions of some forty libraries
	@$(CORPUS)/bin/python -m pytest $(NO_CELERY_PLUGIN) tests/libraries $(ARGS)

$(CORPUS)/.installed: requirements/corpus.txt pyproject.toml
	@$(MAKE) VENV=$(CORPUS) $(CORPUS)/bin/python
	@echo "Installing the locked packages into $(CORPUS) ..." >&2
	@$(CORPUS)/bin/python -m pip --disable-pip-version-check --no-input -qq install --require-hashes -r requirements/corpus.txt >&2
	@$(CORPUS)/bin/python -m pip --disable-pip-version-check --no-input -qq install --no-deps --no-build-isolation --editable . >&2
	@touch $@

## Check --------------------------------------------------------------------------------------------

.PHONY: check check-lint check-types check-layers format
check: check-lint check-types check-layers test-unit ## Rules, format, types, layers, unit tests: before every commit

check-lint: install
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python -m tools.sqllint

check-types: install
	@$(BIN)/mypy

check-layers: install
	@$(BIN)/lint-imports --no-logo

format: install ## Format, and repair what ruff can repair
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

## Maintain -----------------------------------------------------------------------------------------

.PHONY: lock audit docs schema clean
LOCK := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-annotate \
	--custom-compile-command "make lock"
lock: install ## Write requirements/ anew from pyproject.toml (newer versions: ARGS=--upgrade)
	$(LOCK) pyproject.toml --all-extras --group dev -o requirements/dev.txt $(ARGS)
	$(LOCK) pyproject.toml --extra embedded --extra flower --constraint requirements/dev.txt -o requirements/runtime.txt
	$(LOCK) --group build --constraint requirements/dev.txt -o requirements/build.txt
	$(LOCK) pyproject.toml --extra embedded --extra flower --group corpus --constraint requirements/dev.txt -o requirements/corpus.txt $(ARGS)

audit: install ## Ask an index of advisories about what is locked (needs the network)
	@$(BIN)/uv tool run --quiet pip-audit==2.10.1 --progress-spinner off --disable-pip --require-hashes \
	  $(foreach lock,$(wildcard requirements/*.txt),-r $(lock)) $(ARGS)

docs: install ## Write the generated parts of docs/ anew
	@$(BIN)/python -m tools.docgen

schema: install ## Copy the functions that changed into the open revision
	@$(BIN)/python -m remand_migrations.texts

clean: ## Remove caches and what was built (not .venv*, not .remand)
	@rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info
	@find . -name __pycache__ -type d -not -path './.venv*' -prune -exec rm -rf {} +
