# The contributor's entry point; CI calls the same verbs.
#
#   make run        run the example program on real webhook deliveries
#   make test       the whole suite, on the compiled twin and on the pure one
#                   (ARGS="tests/unit -k depth" narrows it)
#   make format     rewrite the sources with ruff
#   make check      lint and types: ruff, mypy --strict, pyright
#   make coverage   line and branch coverage of the package
#   make bench      the benchmarks of the JSON profile, twin against twin
#   make fuzz       a long seeded run of twin against twin (CASES=1000000)
#   make sanitize   the profile's tests under AddressSanitizer and UBSan
#   make wheels     sdist, pure wheel, one native wheel per CPython, runner bundle
#   make docs       build the documentation with warnings as errors
#   make conformance  compare or refresh the golden cases (SHARED=path/to/conformance)

PYTHON ?= python3
VENV ?= .venv
PY := $(VENV)/bin/python
CASES ?= 1000000
JOBS ?= 2
ARGS ?=
PYTEST := $(PY) -m pytest -n $(JOBS) --dist worksteal
SOURCES := pyproject.toml setup.py $(wildcard native/*)

.DEFAULT_GOAL := help
.PHONY: help run test test-native test-pure format check coverage bench fuzz \
        sanitize wheels docs conformance clean

help:
	@sed -n 's/^#   make/  make/p' Makefile

# One stamp per set of tools, so that each verb installs only what it needs.
$(VENV)/.base: $(SOURCES)
	@echo "== creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; call: make PYTHON=python3.11 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade "pip==26.3"
	@echo "== building and installing ledgence-worker with its local tools"
	@# An editable install always warns about itself; that says nothing to a newcomer.
	PYTHONWARNINGS=ignore $(PY) -m pip install --quiet --editable ".[local]"
	@touch $@

$(VENV)/.%: $(VENV)/.base
	@echo "== installing the $* tools"
	$(PY) -m pip install --quiet --group $*
	@touch $@

run: $(VENV)/.base
	$(PY) examples/webhooks/demo.py

test: test-native test-pure

test-native: $(VENV)/.test
	@$(PY) -c 'from ledgence.worker._profile import IMPLEMENTATION as i; print("== the suite on the", i, "twin")'
	$(PYTEST) $(ARGS)

test-pure: $(VENV)/.test
	@echo "== the suite on the pure twin, forced"
	@# The leak tests call the compiled twin alone, whichever is forced.
	LEDGENCE_PURE_PYTHON=1 $(PYTEST) --ignore tests/leaks $(ARGS)

format: $(VENV)/.lint
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix --exit-zero .

check: $(VENV)/.lint $(VENV)/.test
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(PY) -m pyright --pythonpath $(PY)
	$(PY) -m pytest -q tests/typing

coverage: $(VENV)/.test
	$(PY) -m coverage erase
	LEDGENCE_PURE_PYTHON=1 LEDGENCE_COVERAGE=1 $(PY) -m coverage run -m pytest
	$(PY) -m coverage combine --quiet
	$(PY) -m coverage report

bench: $(VENV)/.bench
	$(PY) -m bench

fuzz: $(VENV)/.test
	$(PY) tests/fuzz/fuzz_twins.py --cases $(CASES)

sanitize: $(VENV)/.test
	$(PY) .ci/sanitize.py

wheels: $(VENV)/.wheels
	$(PY) .ci/wheels.py $(ARGS)

docs: $(VENV)/.docs
	$(PY) -m mkdocs build --strict

conformance:
	$(PYTHON) .ci/conformance.py $(SHARED)

clean:
	rm -rf $(VENV) build dist site wheelhouse runner-bundle *.egg-info
	find . -name __pycache__ -prune -exec rm -rf {} +
