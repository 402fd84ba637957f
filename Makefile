# Two commands matter: `make quickstart` and `make test`. `make help` lists the rest.
# Any Python from 3.11 on: PYTHON=/path/to/python3.12 make install
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The black-box suite of a Pinot-shaped control plane; it is not part of this repository.
CONFORMANCE ?= ../shared/conformance
ARGS ?=
# Of make install: postgres, traces, and the stores, whose drivers are there anyway.
EXTRAS ?=

.DEFAULT_GOAL := help
.PHONY: help known-extras install lock advisories quickstart up test test-parts test-short test-installations test-postgresql test-postgresql-short test-failed test-real test-airflow test-deployment test-scale test-scale-short lint conformance conformance-real chaos chaos-scale campaign walks fuzz bench clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-21s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# -- installing: each step leaves a stamp, so that it runs again only when its requirements change

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or later is needed, but $(PYTHON) is " + sys.version.split()[0] + ". Name another one: make PYTHON=/path/to/python3.12 ...")'
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "$(PYTHON) cannot make virtual environments: install its venv package (on Debian and Ubuntu: apt install python3-venv), or name another Python: make PYTHON=... ..." >&2; exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# Every package, also those that others ask for, in the version and with one of the hashes that the locks name; nothing is built with
# anything that is not in a lock either.
PIP := $(BIN)/python -m pip install --disable-pip-version-check --require-hashes --no-build-isolation

$(VENV)/.run-time: requirements-build.lock requirements.lock | $(VENV)/.made
	@echo "Installing what it needs to run; the first time this takes some minutes"
	@$(PIP) -q -r requirements-build.lock
	@$(PIP) -r requirements.lock
	@touch $@

$(VENV)/.demo: requirements-demo.lock $(VENV)/.run-time
	@$(PIP) -r requirements-demo.lock
	@touch $@

$(VENV)/.dev: requirements-dev.lock requirements-postgres.lock requirements-traces.lock $(VENV)/.run-time
	@echo "Installing what tests and checks need"
	@$(PIP) -r requirements-dev.lock -r requirements-postgres.lock -r requirements-traces.lock
	@touch $@

# An S3 server for tests. It wants other versions than what it is tested with, so it gets a folder of its own.
$(VENV)/.s3-server: requirements-s3.lock $(VENV)/.run-time
	@$(PIP) -q --upgrade --target $(VENV)/s3-server -r requirements-s3.lock
	@touch $@

$(VENV)/.postgres $(VENV)/.traces: $(VENV)/.%: requirements-%.lock $(VENV)/.run-time
	@$(PIP) -r requirements-$*.lock
	@touch $@

# Drivers of object stores come with pyarrow, so these names ask for nothing more.
STORES := s3 gs azure hdfs
COMMA := ,
WANTED = $(subst $(COMMA), ,$(EXTRAS))
NO_EXTRA = $(filter-out postgres traces $(STORES),$(WANTED))

known-extras:
	@for name in $(NO_EXTRA); do echo "There is no extra $$name. There are: postgres traces $(STORES)" >&2; exit 1; done

install: known-extras $(VENV)/.run-time $(addprefix $(VENV)/.,$(filter postgres traces,$(WANTED))) ## Install into .venv, nothing outside of it changes (EXTRAS=postgres,s3)
	@echo "Installed in $(VENV)"

LOCK := $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command "make lock"

lock: $(VENV)/.dev ## Resolve the requirements again and write the locks with their hashes (needs the package index)
	$(LOCK) requirements-build.txt -o requirements-build.lock
	$(LOCK) requirements.txt -o requirements.lock
	$(LOCK) -c requirements.lock requirements-demo.txt -o requirements-demo.lock
	$(LOCK) -c requirements.lock requirements-dev.txt -o requirements-dev.lock
	$(LOCK) -c requirements.lock requirements-postgres.txt -o requirements-postgres.lock
	$(LOCK) -c requirements.lock requirements-traces.txt -o requirements-traces.lock
	$(LOCK) requirements-s3.txt -o requirements-s3.lock

advisories: $(VENV)/.dev ## Check the locks against the known advisories kept in tests/advisories.json, offline
	$(BIN)/python -m tests.advisories

# -- running

# exec: Ctrl-C and `kill` reach `up` itself, not a shell in front of it.
quickstart: $(VENV)/.run-time $(VENV)/.demo ## Install, start a whole cluster with demo data, stay in the foreground (ARGS="--port 0")
	@exec $(BIN)/python manage.py up --demo $(ARGS)

up: $(VENV)/.run-time ## Start the cluster without demo data (ARGS="--data-dir DIR --port 9100")
	@exec $(BIN)/python manage.py up $(ARGS)

# -- checking

lint: $(VENV)/.dev ## Style, types, layers and missing migrations
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy segments pinotadmin pinotadmin_client
	$(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check --dry-run

# Two workers, and each file on one of them, those that take long first. A worker that dies ends the run: waiting for it would never end.
PARALLEL := -n 2 --dist loadfile --no-loadscope-reorder --max-worker-restart=0 --durations=10 --durations-min=5
# What ARGS chooses may be in one of the two runs only; status 5: there was nothing to run.
OR_NONE = $(if $(ARGS),|| [ $$? = 5 ])

# Whole installations and browsers: the few that every change runs, and the others.
WHOLE := tests/integration tests/chaos tests/browser tests/packaging/test_image.py
SHORT := tests/integration/test_push.py tests/integration/test_realtime_basic.py tests/integration/test_switches.py tests/browser/test_journey.py

test: lint test-parts test-short ## All checks and every test but the long ones of whole installations (ARGS="-k name")

test-parts: $(VENV)/.demo $(VENV)/.dev $(VENV)/.s3-server ## Every test but those of whole installations and of browsers
	$(BIN)/python -m pytest $(PARALLEL) $(WHOLE:%=--ignore=%) --ignore=tests/scale $(ARGS) $(OR_NONE)

test-short: $(VENV)/.demo $(VENV)/.dev ## The main ways of a user through a whole installation, and through a browser
	$(BIN)/python -m pytest $(PARALLEL) $(SHORT) $(ARGS) $(OR_NONE)

test-installations: $(VENV)/.demo $(VENV)/.dev $(VENV)/.s3-server ## The other tests of whole installations and of browsers; each of the two workers has an installation
	$(BIN)/python -m pytest $(PARALLEL) $(SHORT:%=--ignore=%) $(WHOLE) $(ARGS) $(OR_NONE)

# Suites whose rows go to the database, and of these the ones in which a difference between databases showed.
DATABASE := tests/api tests/services tests/mirror tests/push tests/console tests/faults
DATABASE_SHORT := tests/mirror tests/api/access tests/services/upkeep tests/faults/test_lineage_interrupted.py \
	tests/push/test_push_report.py tests/push/test_dead_pushes.py tests/console/test_odd_input.py tests/console/test_mirror_wait.py \
	tests/integration/test_postgresql.py

test-postgresql: $(VENV)/.dev $(VENV)/.s3-server ## The suites that use the database, on a PostgreSQL that is started for them (status 75: none is installed)
	$(BIN)/python -m tests.postgresql $(PARALLEL) $(DATABASE) $(ARGS) $(OR_NONE)

test-postgresql-short: $(VENV)/.dev ## The part of it that every change runs
	$(BIN)/python -m tests.postgresql $(PARALLEL) $(DATABASE_SHORT) $(ARGS) $(OR_NONE)

test-failed: lint ## All checks, and of the tests those that failed last, one at a time
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures=none tests $(ARGS) $(OR_NONE)

conformance: $(VENV)/.dev ## Run the black-box suite in CONFORMANCE=DIR against a fresh cluster
	@$(BIN)/python -m tests.conformance_run $(CONFORMANCE) $(ARGS)

# The jars of real parts (680 MB) are fetched once with mvn, to ~/.cache/pinotadmin or PINOTADMIN_CACHE; status 75 where that cannot be.
test-real: $(VENV)/.demo $(VENV)/.dev ## Against a real Apache Pinot 0.11.0, newer controllers and Kafka, and Pinot's own clients against ours
	$(BIN)/python -m tests.maven
	REAL_PINOT=1 $(BIN)/python -m pytest -rs tests/real_pinot $(ARGS)

# A figure means something on a machine that does nothing else.
test-scale: $(VENV)/.dev $(VENV)/.s3-server ## Each part of an installation on two addresses, PostgreSQL, three ZooKeepers, S3 and Spark dies under queries and pushes; prints the table
	SCALE_AWAY_S=$${SCALE_AWAY_S:-30} SCALE_SLOWEST_S=$${SCALE_SLOWEST_S:-1} SCALE_PUSHED_S=$${SCALE_PUSHED_S:-60} \
		$(BIN)/python -m pytest -s tests/scale/test_fault_table.py $(ARGS)

# What every change runs: it breaks no bound because the machine is busy.
test-scale-short: $(VENV)/.dev $(VENV)/.s3-server ## The same with everything away for some seconds only, and twenty seconds of random kills
	$(BIN)/python -m pytest -s tests/scale $(ARGS)

# Airflow's own package has pins that are not ours: examples/airflow/README.md says how to install it. Without it, skipped.
test-airflow: $(VENV)/.dev ## The example for Airflow (examples/airflow) with Airflow's own package
	$(BIN)/python -m pytest -rs tests/airflow $(ARGS)

# Helm and the schemas of Kubernetes are not installed here: CONTRIBUTING.md says how. Without them, what needs them is skipped.
test-deployment: $(VENV)/.dev ## Wheel, Containerfile, compose file and Helm chart; the chart rendered where Helm is
	$(BIN)/python -m pytest -rs tests/packaging $(ARGS)

conformance-real: $(VENV)/.dev ## All of it against a real Apache Pinot 0.11.0, directly and through us (ARGS="--through-us test_tables.py")
	$(BIN)/python -m tests.real_pinot.conformance $(CONFORMANCE) $(ARGS)

# Seconds of each part: CHAOS_SECONDS, HISTORY_SECONDS, HANGING_SECONDS. CHAOS_SEED repeats the choices of a run,
# CHAOS_PAUSELESS=0 leaves the table with pauseless commits out of the kills.
chaos-scale: $(VENV)/.dev $(VENV)/.s3-server ## Half an hour of random kills of everything that test-scale has, under all kinds of work (SCALE_CHAOS_SECONDS, SCALE_CHAOS_SEED)
	SCALE_AWAY_S=$${SCALE_AWAY_S:-30} SCALE_PUSHED_S=$${SCALE_PUSHED_S:-300} SCALE_CHAOS_SECONDS=$${SCALE_CHAOS_SECONDS:-1800} \
		$(BIN)/python -m pytest -s tests/scale/test_everything_at_once.py $(ARGS)

chaos: $(VENV)/.dev ## Random kills: half an hour under a stream, 5 minutes of a table's history; 10 minutes of a hanging deep store
	CHAOS_PAUSELESS=$${CHAOS_PAUSELESS:-1} CHAOS_SECONDS=$${CHAOS_SECONDS:-1800} \
		HISTORY_SECONDS=$${HISTORY_SECONDS:-300} HANGING_SECONDS=$${HANGING_SECONDS:-600} \
		$(BIN)/python -m pytest tests/chaos -s $(ARGS)

campaign: $(VENV)/.dev ## 10,000 schedules of the completion protocol, standard and pauseless, from a seed that is printed (CAMPAIGN_SEED)
	@seed=$${CAMPAIGN_SEED:-$$(date +%s)}; echo "CAMPAIGN_SEED=$$seed"; \
		WALK_EXAMPLES=$${WALK_EXAMPLES:-10000} $(BIN)/python -m pytest --hypothesis-seed $$seed --timeout 0 \
		tests/domain/completion/test_completion_walks.py $(ARGS)

walks: $(VENV)/.dev ## Longer random walks through replacements, commits and a table's history, in memory (WALK_EXAMPLES, HISTORY_EXAMPLES)
	WALK_EXAMPLES=$${WALK_EXAMPLES:-2000} HISTORY_EXAMPLES=$${HISTORY_EXAMPLES:-1000} $(BIN)/python -m pytest tests/faults tests/domain/completion $(ARGS)

fuzz: $(VENV)/.dev ## 20,000 generated requests over the whole OpenAPI document (FUZZ_REQUESTS, FUZZ_SEED, FUZZ_ONLY="POST /tables")
	FUZZ_REQUESTS=$${FUZZ_REQUESTS:-20000} FUZZ_SEED=$${FUZZ_SEED:-$$(date +%s)} $(BIN)/python -m pytest -s tests/security/test_campaign.py $(ARGS)

bench: $(VENV)/.demo $(VENV)/.dev ## Measure, and print the numbers beside those of Apache Pinot
	@for file in $$(grep -rl __main__ --include='*.py' bench | sort); do echo "== $$file"; $(BIN)/python -m "$$(echo $${file%.py} | tr / .)" || [ $$? = 75 ] || exit 1; done

clean: ## Remove .venv and caches; the data in .pinotadmin stays
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
