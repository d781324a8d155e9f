# oncelog: `make help` lists what there is.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet
REQ    := .ci/requirements
SEED   ?= 1
RUNS   ?= 20
JOBS   ?= 1
AGAINST ?= kafka,kfake
DAILY  := not slow and not referee and not java and not bench
# pytest on a marker expression, e.g. $(call pytest,wire,tests/wire)
pytest = $(BIN)/pytest -m "$(1)" $(2)

.DEFAULT_GOAL := help
.PHONY: help install install-spark dev run demo test check clients crash damage sim breaks spark bench referee referee-open java fuzz abuse docs lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' Makefile

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("oncelog needs Python 3.11 or newer, this is %d.%d: make PYTHON=python3.12" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: $(REQ)/base.txt pyproject.toml | $(BIN)/python
	$(PIP) --require-hashes -r $(REQ)/base.txt
	$(PIP) --no-deps --editable .
	@$(BIN)/python -m compileall -q broker protocol storage coordinator
	@touch $@

$(VENV)/.spark: $(REQ)/spark.txt $(VENV)/.base
	$(PIP) --require-hashes -r $(REQ)/spark.txt
	@touch $@

$(VENV)/.dev: $(REQ)/dev.txt $(VENV)/.spark
	$(PIP) --require-hashes -r $(REQ)/dev.txt
	@touch $@

install: $(VENV)/.base ## .venv/bin/oncelog, without Spark
install-spark: $(VENV)/.spark ## PySpark and what the demo loads, in the same .venv
dev: $(VENV)/.dev ## everything that tests and checks need

run: $(VENV)/.base ## the broker on port 9092, data in the user's data folder
	$(BIN)/oncelog serve

demo: $(VENV)/.spark ## the main job: 336,776 flights through the broker and Spark, killed on the way, counted exactly
	$(BIN)/python -m oncelog.spark_jobs.demo $(ARGS)

# every test once: those of one module under coverage, unless it would slow them too much
ifdef ARGS
test: $(VENV)/.dev
	$(call pytest,$(DAILY)) $(ARGS)
else
test: $(VENV)/.dev ## all tests, of the heavy families a slice; branch coverage of the unit tests
	$(BIN)/python -m tools.unit_coverage -m "$(DAILY) and not uncovered" && $(BIN)/python -m tools.branch_coverage; unit=$$?; \
	$(call pytest,$(DAILY) and (uncovered or not unit)) && exit $$unit
endif

ifdef ONE
check: $(VENV)/.dev
	@tests=$$($(BIN)/python -m tools.tests_of $(ONE)) && set -x && \
	$(BIN)/ruff format --check $(ONE) $$tests && $(BIN)/ruff check $(ONE) $$tests && $(BIN)/mypy -m oncelog.$(subst /,.,$(patsubst %/__init__,%,$(ONE:.py=))) && \
	$(call pytest,(unit or wire) and not slow,$$tests)
else
check: $(VENV)/.dev ## format, lint, types, unit and wire tests; ONE=storage/log/log.py: of one module
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m tools.docs --check
	$(call pytest,(unit or wire) and not slow,tests/unit tests/wire)
endif

clients: $(VENV)/.dev ## stock clients, Python and otherwise
	$(call pytest,clients,tests/clients)

crash: $(VENV)/.dev ## real processes killed, RUNS rounds of each kind from SEED on (ARGS='-k k4': one kind; README)
	$(call pytest,crash,tests/crash) -o faulthandler_timeout=0 --seed $(SEED) --runs $(RUNS) $(ARGS)

sim: $(VENV)/.dev ## whole brokers on virtual time: RUNS seeds from SEED on, in JOBS processes
	$(call pytest,sim and not slow,tests/sim) -o faulthandler_timeout=0 --seed $(SEED) --runs $(RUNS) --jobs $(JOBS) $(ARGS)

breaks: $(VENV)/.dev ## safeguards of exactly-once taken out, each of which the simulation must notice
	$(call pytest,sim,tests/sim/test_breaks_are_noticed.py) -o faulthandler_timeout=0 --seed $(SEED) $(ARGS)

spark: $(VENV)/.dev ## the PySpark jobs, long form: drivers killed at RUNS random moments
	$(call pytest,spark,tests/spark)
	$(BIN)/python tests/spark/kills.py --runs $(RUNS)
	$(BIN)/python tests/spark/ledger_kills.py --runs $(RUNS)

bench: $(VENV)/.dev ## the table beside AGAINST=kafka,kfake, five rounds (ARGS='--rows txn-* --rounds 1': a part; --resume FILE)
	$(BIN)/python -m tests.bench --against $(AGAINST) $(ARGS)

referee: $(VENV)/.dev ## the wire and client tests against a real Apache Kafka (Java, Maven)
	$(BIN)/python tests/referee/run.py $(ARGS)

referee-open: $(VENV)/.dev ## a directory of ours opened by a real Apache Kafka (Java, Maven)
	$(BIN)/pytest -m referee tests/referee $(ARGS)

java: $(VENV)/.dev ## Java clients against the broker (Java, Maven)
	$(call pytest,java,tests/clients)

damage: $(VENV)/.dev ## every file of a data directory damaged in every place and way, other bytes with another SEED
	$(BIN)/pytest tests/unit/storage/recovery/test_damage_sweep.py tests/unit/storage/recovery/test_internal_damage_sweep.py --seed $(SEED) $(ARGS)

fuzz: $(VENV)/.dev ## 10 minutes of malformed requests
	$(BIN)/python -m tests.fuzz --seconds 600 --seed $(SEED)

abuse: $(VENV)/.dev ## clients that mean harm: the broker's memory, and what others notice (ARGS='--seconds 30 drips')
	$(BIN)/python -m tests.abuse $(ARGS)

docs: $(VENV)/.base ## the generated files: APIs, settings, states
	$(BIN)/python -m tools.docs

lock: $(BIN)/python ## the locked requirements again (needs uv)
	$(PIP) uv && PATH="$(CURDIR)/$(BIN):$$PATH" .ci/lock

clean: ## what make made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .coverage *.egg-info
