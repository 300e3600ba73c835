# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Each process begins with neighbours, so that it seldom repeats the set-up of a module.
PYTEST := $(BIN)/python -m pytest -q -n auto --dist worksteal
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: demo test fuzz oracles lint docs dist pictures clean
.DELETE_ON_ERROR:

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "bboxqa needs Python 3.11 or newer; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.installed
	$(PIP) --constraint constraints.txt "pip>=25.1"
	$(PIP) --constraint constraints.txt --group test --group lint
	@touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(PIP) --constraint constraints.txt "pip>=25.1"
	$(PIP) --constraint constraints.txt --group docs
	@touch $@

# A store as Azure has it, and what tells whether everybody can use a page: tests leave out what npm
# cannot bring. In one command, since npm removes what another one brought.
$(VENV)/.node: $(BIN)/python
	npm install --prefix $(VENV) --no-audit --no-fund --no-save --silent azurite@3.37.0 axe-core@4.14.1 \
	  && touch $@ || echo "Azurite and axe-core are not there: their tests are left out"

demo: $(VENV)/.installed
	$(BIN)/bboxqa example fruits --out demo/fruits --force
	$(BIN)/bboxqa agree demo/fruits/fruits.json --config fruits --out demo/result --force
	@echo
	@echo "The picture is demo/fruits/fruits_annotators.png; the tables are in demo/result/ (start with summary.json)."

test: $(VENV)/.test
	$(PYTEST)

# More random files and values than `make test` tries, all combinations, and hostile files of 1 MB:
# make fuzz SEEDS=1000
SEEDS := 200
fuzz: $(VENV)/.test
	BBOXQA_FUZZ=$(SEEDS) $(PYTEST) tests

# Datumaro needs older versions of some libraries, so it has an environment of its own, of 900 MB.
$(VENV)/.oracles: $(BIN)/python pyproject.toml
	$(PYTHON) -m venv $(VENV)/oracles
	$(VENV)/oracles/bin/python -m pip --disable-pip-version-check install --quiet "pip>=25.1"
	$(VENV)/oracles/bin/python -m pip --disable-pip-version-check install --quiet --editable . --group oracles
	@touch $@

oracles: $(VENV)/.oracles
	$(VENV)/oracles/bin/python -m pytest -q tests/formats/test_datumaro_oracle.py

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict bboxqa
	$(BIN)/lint-imports

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --nitpicky --quiet docs docs/_build
	@echo "The site is docs/_build/index.html."

# What an upload to PyPI takes: dist/ with a wheel and a source archive, both checked.
dist: $(BIN)/python
	$(PIP) --constraint constraints.txt "pip>=25.1"
	$(PIP) --constraint constraints.txt --group release
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/python -m twine check --strict dist/*

pictures: $(VENV)/.installed
	$(BIN)/python docs/pictures/write_pictures.py readme_images

clean:
	rm -rf $(VENV) demo dist docs/_build bboxqa-example-*
