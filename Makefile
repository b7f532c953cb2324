# Front doors: make pilot, make test, make setup, make lab.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.ready

.PHONY: setup agents pilot presets test lint lab bench clean

setup: $(STAMP)

$(STAMP): .ci/requirements.lock pyproject.toml $(wildcard evalkit/data/templates/evalkit/*)
	bash .ci/system-packages
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r .ci/requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(BIN)/python -m compileall -q evalkit
	touch $@

# The real agents that tests start, against a stand-in for their providers.
agents: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r .ci/agents.lock

# Prove the graders, plan, seal, run with the scripted agent, report.
pilot: setup
	$(BIN)/python .ci/pilot.py

# The same for the presets of the further corpora.
PRESETS := complex-tasks@2 complex-tasks@3 complex-tasks@4
presets: setup
	for corpus in $(PRESETS); do \
	  $(BIN)/python .ci/pilot.py $$corpus || exit; \
	done

test: setup
	$(BIN)/python -m pytest -n 4 --dist loadgroup

lint: setup
	$(BIN)/python -m pytest tests/test_house.py

lab: setup
	$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) notebooks

# Side by side with what else does the same; hours, on an idle machine. One by name:
# make bench BENCHMARKS=overhead
BENCHMARKS := starting overhead sleeping journals frames transcripts exploring \
  publishing resampling routing against_inspect
bench: setup
	for name in $(BENCHMARKS); do \
	  $(BIN)/python tests/benchmarks/$$name.py || exit; \
	done

clean:
	rm -rf .venv
