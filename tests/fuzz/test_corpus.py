"""Every kept input of the fuzzers, and a few new ones. `make fuzz` goes on for as long as you like."""

import itertools

import pytest
from fuzz.run import inputs, kept
from fuzz.targets import all_targets

NAMES = ("index", "gz", "formats", "values", "http")


@pytest.fixture(scope="module")
def targets():
    with all_targets() as found:
        yield {target.name: target for target in found}


@pytest.mark.parametrize("name", NAMES)
def test_seeds_and_kept_inputs_break_no_promise(targets, name):
    target = targets[name]
    for data in [*target.seeds, *kept(target)]:
        target.run(data)


COUNTS = {"index": 2000, "gz": 200, "formats": 100, "values": 30, "http": 300}


@pytest.mark.parametrize(
    ("name", "count"),
    [
        *((name, count // 4) for name, count in COUNTS.items()),
        *(pytest.param(name, count, marks=pytest.mark.long) for name, count in COUNTS.items()),
    ],
)
def test_some_new_inputs_break_no_promise(targets, name, count):
    target = targets[name]
    for data in itertools.islice(inputs(target, seed=1), count):
        target.run(data)


def test_all_targets_are_tested(targets):
    assert set(targets) == set(NAMES)
