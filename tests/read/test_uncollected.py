"""Reading without garbage collection leaves the collector as it was."""

import gc

import pytest

from pulseboard.read.uncollected import uncollected


@pytest.fixture(autouse=True)
def collector():
    yield
    gc.unfreeze()
    gc.enable()


def test_no_garbage_is_collected_in_the_block_and_what_it_makes_is_not_looked_through_later():
    gc.collect()
    with uncollected():
        kept = [[i] for i in range(50_000)]
        assert not gc.isenabled()
    assert gc.isenabled()
    young = {id(one) for generation in (0, 1) for one in gc.get_objects(generation)}
    assert not young.intersection(map(id, kept))


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    with uncollected():
        pass
    assert not gc.isenabled()


def test_what_the_program_froze_stays_frozen():
    gc.freeze()
    frozen = gc.get_freeze_count()
    with uncollected():
        kept = [[i] for i in range(50_000)]
    assert gc.get_freeze_count() == frozen > 0
    del kept
