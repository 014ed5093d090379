# `make demo` and `make test` are all that a newcomer needs: both prepare the machine first, once.
.PHONY: demo test test-fast faults long soak storms scenarios fuzz bench object-store setup setup-python clean clean-live-runs distclean
.NOTPARALLEL:
BIN := .venv/bin
EACH_FAULT := tests/cluster/shared/faults/each tests/cluster/log_directories

demo: setup
	$(BIN)/highwater run acks1-leader-kill acks-all-leader-kill

test: setup lint without-docker
	$(BIN)/pytest tests/cluster $(EACH_FAULT:%=--ignore %)

# Everything but the tests that start containers.
test-fast: setup-python lint without-docker

# Tests flush and remove thousands of files, and run scripts among them: in memory, if that has 4 GB and may
# hold programs. What a test that has passed leaves is removed at once.
IN_MEMORY = $(shell [ -w /dev/shm ] && ! grep -q ' /dev/shm .*noexec' /proc/mounts && \
	df -Pk /dev/shm | awk 'END { if ($$4 > 4000000) print "/dev/shm" }')

.PHONY: without-docker lint
# Byte code is kept, whatever the environment says: else each of many processes compiles every module anew.
# Three processes on two processors: a quarter of the time is waiting.
without-docker: export PYTHONDONTWRITEBYTECODE =
without-docker: export PYTEST_DEBUG_TEMPROOT = $(IN_MEMORY)
without-docker: export PYTEST_ADDOPTS += -o tmp_path_retention_policy=failed
without-docker:
	$(BIN)/pytest tests/unit tests/spark -n 3 --dist loadfile

lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# What takes minutes each on real clusters: scenarios with a self-test of each run, acceptances, upgrades, clocks,
# transactions, suites, and runs that are killed in each kind of fault. Spark's executors and an object store, too.
long: setup
	$(BIN)/pytest tests/long

# Every kind of fault and every event on a cluster: its effect, its recovery, and that the evidence can fail.
faults: setup
	$(BIN)/pytest $(EACH_FAULT)

# A storm of an hour, and what it costs the machine all along.
soak: setup
	$(BIN)/python -m harness.bench.soak

# Twenty storms of every intensity: what they lost, and how late their faults began. Some 50 minutes.
storms: setup
	$(BIN)/python -m harness.bench.storms

# Every shipped scenario, three times each, and a table of what was expected and what was seen: some hours.
scenarios: setup
	$(BIN)/highwater suite catalogue --repeat 3

fuzz: setup-python
	$(BIN)/python -m spark_verify.selftest.fuzz
	$(BIN)/python -m spark_verify.selftest.segments.damaged_segments --real tests/fixtures/segments
	$(BIN)/python -m spark_verify.selftest.model_fuzz

# A verdict on object storage by a Spark cluster that shares only that with the driver; as root.
object-store: setup-python
	$(BIN)/python -m spark_verify.selftest.object_store.show

bench: setup
	$(BIN)/python -m harness.bench.bench

# Python packages, Java, Docker Engine and images: whatever is missing.
setup:
	@sh compose/setup/bootstrap.sh
	@$(BIN)/highwater setup

setup-python:
	@sh compose/setup/bootstrap.sh
	@$(BIN)/highwater setup --no-docker

# Containers, networks, volumes and loop devices of dead runs, and what tools left in the checkout.
clean:
	@if [ -x $(BIN)/highwater ]; then $(BIN)/highwater clean; fi
	rm -rf build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis spark-warehouse metastore_db
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

# Also what belongs to runs that are still alive.
clean-live-runs: clean
	@if [ -x $(BIN)/highwater ]; then $(BIN)/highwater clean --all; fi

# Also the images and the virtual environment: the next set-up starts from nothing.
distclean: clean-live-runs
	@if [ -x $(BIN)/highwater ]; then $(BIN)/highwater setup --remove; fi
	rm -rf .venv *.egg-info
