# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.10; do \
	command -v $$p >/dev/null 2>&1 && \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
DEMO ?= demo-model

export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: help install demo test test-slow lint format results docs-methods clean

help:
	@echo "make demo    train on the bundled example, measure on held-out rows, write a report"
	@echo "make test    run the test suite (offline, under 5 minutes on two cores)"
	@echo "make lint    formatting, rules, types, direction of imports"
	@echo "make results write docs/results.md and its figures from the committed records"
	@echo "make clean   remove the environment and what was built"

install: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints-cpu.txt
	@test -n "$(PYTHON)" || { echo "Python 3.10 or newer is needed; none was found."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
		echo "Making $(VENV) failed. On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet -c constraints-cpu.txt -e '.[embedded,dev]'
	@touch $@

demo: install
	$(BIN)/protofit train examples/tickets/train.csv --eval examples/tickets/test.csv \
		--out $(DEMO) --overwrite
	$(BIN)/protofit report $(DEMO) examples/tickets/test.csv --out $(DEMO)-report.html

test: install
	$(BIN)/python -m pytest

test-slow: install
	$(BIN)/python -m pytest -m slow

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs-methods: install
	$(BIN)/python benchmarks/method_pages.py

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

results: install
	$(BIN)/python benchmarks/results.py

clean:
	rm -rf $(VENV) $(DEMO) $(DEMO).run $(DEMO)-report.html build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
