# Everything the course needs, in one place. `make help` lists the commands.
# Kept to what make 3.81 knows, which is what macOS ships.

PY := .venv/bin/python
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help lab test build lint format lock clean

help: ## show this list
	@echo "Usage: make COMMAND [ARGS=…]"
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-8s %s\n", $$1, $$2 }' Makefile

lab: ## open the course in JupyterLab (ARGS are passed on, e.g. ARGS=--no-browser)
	@sh .ci/install lab
	@$(PY) -m d2lperf.cli lab $(ARGS)

test: ## run the tests (ARGS are passed on, e.g. ARGS='-k setup')
	@sh .ci/install test
	@$(PY) -m pytest $(ARGS)

build: ## bring notebooks into normal form and build exercises/ from solutions/
	@sh .ci/install test
	@$(PY) -m d2lperf.cli build $(ARGS)

lint: ## check style, types and layers
	@sh .ci/install test
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy
	@.venv/bin/lint-imports

format: ## format the code and repair what ruff can repair
	@sh .ci/install test
	@$(PY) -m ruff check --fix-only --quiet .
	@$(PY) -m ruff format .

lock: ## renew requirements.lock and environment.yml (ARGS=--upgrade for newer versions)
	@sh .ci/install test
	@$(PY) .ci/lock.py $(ARGS)

clean: ## remove .venv and caches; leaves notebooks, answers and the gradebook alone
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build
	rm -rf *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
