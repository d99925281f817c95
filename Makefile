# Every target does its own set-up: Python 3.11 to 3.13 and make are enough (and a C compiler while TextWorld's
# emulator is only published as source).

VENV := .venv
BIN := $(VENV)/bin
ifndef PYTHON
PYTHON := $(shell for python in python3.13 python3.12 python3.11 python3 python; do \
	if $$python -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; \
	then echo $$python; break; fi; done)
endif
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt
NEEDS_COMPILER := { command -v "$${CC:-cc}" >/dev/null 2>&1 || echo "No C compiler found: TextWorld's emulator is \
	compiled when it is installed (Debian: apt-get install gcc libc6-dev)." >&2; exit 1; }
# A home of its own, so that the demo never touches data of yours.
DEMO_HOME := $(CURDIR)/.demo/home

# The oldest driver that pyproject.toml allows, in an environment of its own that takes all else from $(VENV).
OLDEST := $(VENV)/oldest-driver
OLDEST_DRIVER := neo4j==5.28.*

.PHONY: help demo test test-oldest-driver soak neo4j-image lint bench bench-store clean
.DELETE_ON_ERROR:

help:
	@echo "make demo     explore a game into the embedded database and ask it questions"
	@echo "make test     the whole test suite (ARGS='-k words' for a part)"
	@echo "make neo4j-image         the image of Neo4j for the tests, pulled or built"
	@echo "make soak     kills, pauses and rivals on both engines, at length (about half an hour)"
	@echo "make test-oldest-driver  the store's tests with the oldest Neo4j driver that is allowed"
	@echo "make lint     style, types, import contracts"
	@echo "make bench    the figures of benchmarks/ (ARGS=--help)"
	@echo "make bench-store         the store against the bare driver (docs/benchmarks.md; ARGS=--help)"
	@echo "make clean    remove all that these made"

demo: $(VENV)/user.stamp
	@AUTOCONTEXT_HOME="$(DEMO_HOME)" $(BIN)/python examples/demo.py $(ARGS)

test: $(VENV)/dev.stamp
	$(BIN)/python -m pytest $(ARGS)

soak: $(VENV)/dev.stamp
	AUTOCONTEXT_SOAK=full $(BIN)/python -m pytest tests/soak $(ARGS)

test-oldest-driver: $(OLDEST)/stamp
	@$(OLDEST)/bin/python -c "import neo4j; assert neo4j.__version__.startswith('5.28.'), neo4j.__version__"
	$(OLDEST)/bin/python -m pytest tests/unit tests/integration/test_store_*.py tests/integration/test_engines*.py $(ARGS)

neo4j-image: $(VENV)/python.stamp
	@$(BIN)/python tests/services/neo4j_image.py

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/user.stamp
	$(BIN)/python benchmarks/explore.py $(ARGS)

bench-store: $(VENV)/user.stamp
	$(BIN)/python benchmarks/store.py $(ARGS)

clean:
	@if [ -x $(BIN)/autocontext ] && [ -d "$(DEMO_HOME)" ]; then \
		AUTOCONTEXT_HOME="$(DEMO_HOME)" $(BIN)/autocontext db stop >/dev/null 2>&1 || true; fi
	rm -rf $(VENV) .demo build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find autocontext benchmarks examples tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/python.stamp:
	@if [ -z "$(PYTHON)" ]; then \
		echo "No usable Python found: 3.11, 3.12 or 3.13 with venv is needed (Debian: apt-get install python3-venv);" \
			"or name one: make PYTHON=/path/to/python3.11" >&2; exit 1; fi
	@echo "Setting up $(VENV) with $(PYTHON) (once, a minute or two) ..."
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/user.stamp: $(VENV)/python.stamp pyproject.toml constraints.txt
	@$(PIP) -e '.[embedded,textworld]' || $(NEEDS_COMPILER)
	@touch $@

$(VENV)/dev.stamp: $(VENV)/python.stamp pyproject.toml constraints.txt
	@$(PIP) -e '.[all,dev]' || $(NEEDS_COMPILER)
	@touch $(VENV)/user.stamp $@

$(OLDEST)/stamp: $(VENV)/dev.stamp
	@rm -rf $(OLDEST)
	@$(BIN)/python -m venv --without-pip $(OLDEST)
	@$(BIN)/python -m pip --disable-pip-version-check --python $(OLDEST)/bin/python install --quiet --no-deps '$(OLDEST_DRIVER)'
	@for place in $(OLDEST)/lib/python*/site-packages; do \
		$(BIN)/python -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' \
			> $$place/main.pth; done
	@touch $@
