# Each target sets up what it needs; all that has to be there is Python 3.10 or newer, git and make.

PYTHON ?= python3
# Everything is installed in the tested versions. --no-build-isolation: with the tested setuptools, too.
INSTALL = python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
EDITABLE = --no-build-isolation --editable

.PHONY: demo test test-page test-peers test-oldest explore check lock docs site types pyright format bench clean

# BACKEND=local or BACKEND=ray: the stages that need a model run on groups of workers.
DEMO = .venv$(if $(filter ray,$(BACKEND)),-peers)
demo: $(DEMO)/.stamp  # train a small model by GRPO, under contract
	cd docs/examples && ../../$(DEMO)/bin/python -m grpo_arithmetic $(addprefix --backend ,$(BACKEND))

test: .venv/.stamp  # what needs neither verl nor Ray
	.venv/bin/pytest

test-page: .venv/.stamp  # the page to explore, in the Chromium that is installed (Debian: apt-get install chromium)
	.venv/bin/pytest -m browser

test-peers: .venv-peers/.stamp  # against verl, TransferQueue and Ray; TESTS=tests/findings: these alone
	.venv-peers/bin/pytest $(TESTS) -m "peers or ray" || test $$? -eq 5  # 5: no such test

# What never sees a TensorDict is left out.
test-oldest: .venv/.stamp build/oldest/.stamp  # with the oldest tensordict that is supported
	PYTHONPATH=$(CURDIR)/build/oldest .venv/bin/pytest tests/dataproto tests/contracts tests/test_example.py \
		$(addprefix --ignore=tests/contracts/,faults formats lint lock proof reference testing/test_mutations.py testing/test_vocabulary_samples.py)

explore: .venv-peers/.stamp  # property tests with examples that nobody has drawn yet
	.venv-peers/bin/pytest -m "hypothesis and not bench" --hypothesis-profile=explore

bench: .venv-peers/.stamp .venv/.stamp  # speed, beside verl; that of the page in Chromium. Tables: build/speed.md
	rm -f build/speed.md
	.venv-peers/bin/pytest tests/benchmarks -m bench --ignore=tests/benchmarks/test_page.py
	.venv/bin/pytest tests/benchmarks/test_page.py -m bench

check: .venv/.stamp types pyright  # style, types, floors, drift of the vocabulary and of the references
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/lint-imports
	.venv/bin/batchpact lock --check --file docs/batchpact.lock.json
	.venv/bin/batchpact docs --check
	$(DOCS_OF_EXAMPLE) --check

lock: .venv/.stamp  # what the contracts of schemas/rl say, in a file whose changes can be reviewed
	.venv/bin/batchpact lock --file docs/batchpact.lock.json

site: .venv/.stamp build/types/batchpact  # the docs as a site, in build/site; a link that leads nowhere fails
	PATH="$(CURDIR)/.venv/bin:$$PATH" .venv/bin/zensical build --strict --clean

DOCS_OF_EXAMPLE = PYTHONPATH=docs/examples .venv/bin/batchpact docs grpo_arithmetic.pipeline \
	--output docs/examples/grpo_arithmetic/reference

docs: .venv/.stamp  # the references of schemas/rl and of the example, from their contracts
	.venv/bin/batchpact docs
	$(DOCS_OF_EXAMPLE)

types: .venv/.stamp build/types/batchpact
	.venv/bin/mypy -p batchpact.schemas -p batchpact.dataproto -p batchpact.contracts -p grpo_arithmetic

pyright: .venv/.stamp build/types/batchpact  # the other type checker
	.venv/bin/pyright

format: .venv/.stamp
	.venv/bin/ruff check --fix
	.venv/bin/ruff format

clean:
	rm -rf .venv .venv-peers build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks

.venv/.stamp: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	.venv/bin/$(INSTALL) setuptools
	.venv/bin/$(INSTALL) $(EDITABLE) '.[dev]'
	touch $@

.venv-peers/.stamp: pyproject.toml constraints.txt tests/peers.txt
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/$(INSTALL) setuptools
	.venv-peers/bin/$(INSTALL) $(EDITABLE) '.[test,ray,transfer-queue]' -r tests/peers.txt
	.venv-peers/bin/$(INSTALL) --no-deps verl
	touch $@

build/oldest/.stamp: tests/oldest.txt
	.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target build/oldest -r $<
	touch $@

# Type checkers do not follow the mapping of an editable install, so they get the folders under their import names.
build/types/batchpact:
	mkdir -p $@
	ln -s ../../../schemas ../../../dataproto ../../../contracts $@
