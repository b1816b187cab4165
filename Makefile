# One target per task, the same at home and in CI. Needs Python 3.11 or newer and make; the environment is .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help setup app test test-all bench stress gpu screenshots family docs site sums lint format check clean

help:
	@echo "make app     environment, install, dashboard on the shipped snapshot (http://localhost:8501)"
	@echo "make test    environment, install, tests; one journey in the browser if chromium is available"
	@echo "make test-all  what make test leaves out: the wheel, the notebook, Ray's workers, benchmarks, kills, full disks and"
	@echo "             damage, every page in the browser at two widths (installs Ray)"
	@echo "make bench   speed as ratios to named alternatives; PARTS='heads live' selects parts, ARGS=--json prints JSON"
	@echo "make stress  kills, links, broken models, altered shares, flipped bits: an hour at most, resumable; docs/reliability.md"
	@echo "make gpu     a GPU against the CPU in ranks, and in time against transformers, written to docs/performance.md"
	@echo "make screenshots  takes the pictures of README and docs again, from the shipped results, and runs docs/notebook.ipynb; needs"
	@echo "             chromium"
	@echo "make lint    ruff and mypy, and builds the documentation site"
	@echo "make setup   environment and install only"
	@echo "make family  makes the shipped models and results again, after the base; prints the hours first, resumable"
	@echo "make docs    writes the table of architectures in docs/heads.md again; model-card prints what the models' card has"
	@echo "make site    builds the documentation site in cache/site; a warning is an error"
	@echo "make sums    writes data/SHA256SUMS, the checksums of what ships, again"
	@echo "make format  ruff's formatter"
	@echo "make check   verify data and runs"
	@echo "make clean   delete .venv and all files that the program can make again; models, heads, runs and downloads stay"

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else f"Python 3.11 or newer is needed, this is {v.major}.{v.minor}; try: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	$(PYTHON) -m venv $(VENV)

# The exact versions first, then the package, whose ranges would leave newer ones in place.
$(VENV)/.installed: $(VENV)/pyvenv.cfg requirements.txt pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt -e ".[dev]"
	@touch $@

setup: $(VENV)/.installed

family: setup
	HF_HUB_OFFLINE=1 $(BIN)/python -m probing family

app: setup
	$(BIN)/python -m probing.ui

# Each file is compiled once, and not again by every process that a test starts. tests/conftest.py orders the files.
test: $(VENV)/.installed-dev
	@sh tests/install_chromium.sh
	PYTHONDONTWRITEBYTECODE= HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

$(VENV)/.installed-all: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt -e ".[dev,ray]"
	@touch $@

# One thread for each of Ray's two workers.
test-all: $(VENV)/.installed-all
	@sh tests/install_chromium.sh
	OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -m slow -n 2 --dist loadfile --durations 10

bench: $(VENV)/.installed-dev
	@HF_HUB_OFFLINE=1 $(BIN)/python -m tests.speed $(PARTS) $(ARGS)

stress: $(VENV)/.installed-dev
	HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 $(BIN)/python -W ignore -m tests.stress

gpu: $(VENV)/.installed-dev
	@HF_HUB_OFFLINE=1 $(BIN)/python -m tests.gpu --write

screenshots: $(VENV)/.installed-dev
	@sh tests/install_chromium.sh
	PROBING_PICTURES=docs/screenshots HF_HUB_OFFLINE=1 $(BIN)/python -m pytest tests/browser/test_journey.py -m slow -k picture
	$(BIN)/python -m tests.written_notebook

docs: $(VENV)/.installed-dev
	$(BIN)/python -m tests.written_docs

# The theme's advice on mkdocs 2 is no warning of this site.
site: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 HF_HUB_OFFLINE=1 $(BIN)/python -m mkdocs build --strict -f docs/site/mkdocs.yml

# All that ships but texts for readers and the code that makes it; macOS calls sha256sum otherwise.
sums:
	cd data && git ls-files | grep -v -e '^making/' -e 'README\.md$$' -e '^SHA256SUMS$$' | LC_ALL=C sort | \
	    xargs $$(command -v sha256sum || echo shasum -a 256) > ../SHA256SUMS.tmp && mv ../SHA256SUMS.tmp SHA256SUMS

lint: $(VENV)/.installed-dev site
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy probing data/making app.py pages/*.py docs/site

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

check: setup
	$(BIN)/python -m probing check

# Never anything that a user trained, probed or fetched: see cache/README.md.
MADE_AGAIN := site states head-states edge-states sentence-states shards jobs bench locks

clean:
	rm -rf $(VENV) build *.egg-info
	rm -rf $(addprefix cache/,$(MADE_AGAIN))
