# Every target sets up what it needs; `make run` and `make test` work from a bare checkout.
PYTHON ?= python3.11
BIN := .venv/bin
READY := .venv/.ready

.PHONY: run test unit lint-and-docs test-all fuzz lint bench mutants docs wheel examples fresh pretrain-check served-check clean

run: $(READY)
	$(BIN)/unmask run

test: $(READY)  # mypy and the documentation take one core while the tests begin on the other
	@$(MAKE) --no-print-directory -j2 --output-sync=target lint-and-docs unit

lint-and-docs: lint
	$(BIN)/mkdocs build --strict --quiet

unit: $(READY)
	$(BIN)/pytest -m "not slow"

test-all: $(READY) lint
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[ray]"
	$(BIN)/pytest
	$(MAKE) pretrain-check

served-check: $(READY)  # builds llama.cpp: minutes; for any CPU of that architecture
	CMAKE_ARGS=-DGGML_NATIVE=OFF $(BIN)/pip install --quiet --disable-pip-version-check "llama-cpp-python[server]==0.3.36"
	$(BIN)/pytest -s -n0 tests/slow/test_real_weights.py -k server

fuzz: $(READY)
	PYTHONPATH=tests $(BIN)/python tests/fuzz/fuzz.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)  # SIZE=--small for a quick look
	$(BIN)/python benchmarks/all.py $(SIZE)

mutants: $(READY)  # breaks stats, measures and flow on purpose: which changes do the tests notice?
	$(BIN)/python tools/mutants.py

wheel: $(READY)  # built, installed into an empty environment, and run there offline
	rm -rf dist build/wheel-check
	$(BIN)/python -m build --wheel --no-isolation --outdir dist
	$(BIN)/python -m venv build/wheel-check
	build/wheel-check/bin/pip install --quiet --disable-pip-version-check torch==2.13.0
	build/wheel-check/bin/pip install --quiet --disable-pip-version-check -c constraints.txt dist/*.whl
	cd build/wheel-check && HF_HUB_OFFLINE=1 bin/unmask run --limit 20 --out results --force --quiet

examples: $(READY)  # the README's output, the notebooks and the images, from one run
	$(BIN)/python tools/examples.py

fresh: $(READY)
	$(BIN)/python tools/examples.py --check

docs: $(READY)
	$(BIN)/mkdocs build --strict

pretrain-check: $(READY)
	$(BIN)/python tools/pretrain/check.py

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv || python3 -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $(READY)

clean:
	rm -rf .venv build dist site
