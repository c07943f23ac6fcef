# The first thing to try is `make showdown`; everything else is `.venv/bin/ringside --help`.

.PHONY: help setup setup-dev setup-test setup-integration showdown test integration fuzz soak ruff lint bench release-check clean

help:
	@echo "make showdown      each problem in short on this machine: tables here, plots in report.html (some minutes)"
	@echo "make setup         only set up: .venv/bin/ringside and the runtimes that can be had"
	@echo "make test          all tests but those of `integration` and `soak`"
	@echo "make integration   every contender and copy by \`ringside check\`, the wheel, clusters"
	@echo "make fuzz          parsers and readers, a minute each"
	@echo "make soak          hours: every contender at large points, longer fuzzing, mutation tests, fresh systems (as root)"
	@echo "make lint          format, types, and what the compilers warn of"
	@echo "make release-check  what a release would publish, built and tried; publishes nothing"
	@echo "make bench         Ringside against its peers (a quiet machine helps)"

setup:
	@scripts/setup

setup-dev:
	@scripts/setup --dev

# No other contenders than those that tests start: to build all takes longer than the tests.
setup-test:
	@scripts/setup --dev --later
	@.venv/bin/ringside setup $$(.venv/bin/python -m tests.support.needed) || [ $$? = 1 ]

# All contenders; with CHANGED_SINCE=REVISION those that differ from what they were then.
setup-integration: setup-test
	@.venv/bin/ringside setup $$(.venv/bin/python -m tests.support.needed integration) || [ $$? = 1 ]

# The runtimes of each problem are made ready when its turn comes: the first table is not kept waiting.
showdown:
	@scripts/setup --later
	@trap : INT; .venv/bin/python scripts/showdown.py; status=$$?; command -v ringside >/dev/null || \
	  echo 'for these commands: export PATH="$$PWD/.venv/bin:$$PATH"' >&2; exit $$status

ruff: setup-test
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .

lint: ruff
	.venv/bin/mypy
	cd probe && cargo fmt --all --check && cargo clippy --workspace --quiet --release --all-targets --locked -- -D warnings
	cd probe && cargo clippy --package engine --no-default-features --quiet --release --locked -- -D warnings
	scripts/fuzz 0
	@[ -x .ringside/bin/actionlint ] || GOBIN="$$PWD/.ringside/bin" go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 \
	  || echo "lint: actionlint cannot be had: the workflows are not checked"
	@[ ! -x .ringside/bin/actionlint ] || .ringside/bin/actionlint

# Two at a time: most tests wait as long as they compute, and more would crowd out the trials that tests pin to
# CPUs.
test: ruff
	@scripts/test_probe
	@.venv/bin/pytest -n 2 --durations 40 --durations-min 4

# The engine without its layers, as `scripts/probe ringside-probe-plain` builds it, is the same code but for a module.
integration: setup-integration
	.venv/bin/pytest -m "integration and not soak" -n 2
	cd probe && cargo test --package engine --lib --no-default-features --release --quiet --locked

soak: setup-dev
	@scripts/each ".venv/bin/pytest -m soak" "scripts/fuzz 300" ".venv/bin/python scripts/fuzz_readers.py 300" \
	  ".venv/bin/python scripts/endurance.py" scripts/sanitize scripts/mutants.py scripts/mutants_probe \
	  $(if $(filter 0,$(shell id -u)),$(foreach suite,bookworm trixie noble,"scripts/clean_root $(suite)"))
	@[ "$$(id -u)" = 0 ] || echo "soak: fresh systems are left out: scripts/clean_root needs root"

# Seconds for each target.
EACH := 60
fuzz: setup-test
	@scripts/fuzz $(EACH)
	@.venv/bin/python scripts/fuzz_readers.py $(EACH)

bench: setup-dev
	.venv/bin/python benchmarks/trial_cost.py
	.venv/bin/python benchmarks/probe_share.py
	.venv/bin/python benchmarks/command_line.py
	.venv/bin/python benchmarks/summary_cost.py
	.venv/bin/python benchmarks/serve_cost.py
	.venv/bin/python benchmarks/postgresql_cost.py
	.venv/bin/python benchmarks/report_cost.py
	.venv/bin/python benchmarks/check_cost.py
	.venv/bin/python benchmarks/ring_bare.py
	.venv/bin/python benchmarks/servers_bare.py
	.venv/bin/python benchmarks/sleepers_bare.py
	.venv/bin/python benchmarks/accounts_bare.py
	.venv/bin/python benchmarks/accounts_share.py
	.venv/bin/python benchmarks/batch.py
	.venv/bin/python benchmarks/engine.py
	.venv/bin/python benchmarks/engine_secure.py
	.venv/bin/python benchmarks/clients.py
	.venv/bin/python benchmarks/truth.py
	.venv/bin/python benchmarks/traps.py
	.venv/bin/python benchmarks/cluster_cost.py
	.venv/bin/python benchmarks/calibration.py

release-check: setup-dev
	scripts/release_check

clean:
	rm -rf .venv .ringside dist probe/target
