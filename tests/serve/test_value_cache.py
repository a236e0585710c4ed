"""The value cache: values are kept while the run is unchanged and there is room."""

from dataclasses import dataclass

from pulseboard.serve.live.value_cache import ValueCache


@dataclass
class Picture:
    frames: tuple


class Run:
    def __init__(self, name="run", size=10):
        self.name, self.size, self.decoded = name, size, 0

    def values(self, tag, *, kind):
        self.decoded += 1
        return [Picture((bytes(self.size),))]


def test_a_second_query_decodes_nothing():
    run, cache = Run(), ValueCache()
    first = cache.values(run, "a", kind="image", revision=1)
    assert cache.values(run, "a", kind="image", revision=1) is first
    assert run.decoded == 1


def test_a_run_that_has_changed_is_decoded_again():
    run, cache = Run(), ValueCache()
    cache.values(run, "a", kind="image", revision=1)
    cache.values(run, "a", kind="image", revision=2)
    cache.values(run, "a", kind="image", revision=2)
    assert run.decoded == 2


def test_memory_is_limited_and_the_least_recently_used_values_go_first():
    cache = ValueCache(max_bytes=10_000)
    runs = [Run(str(i), size=3_000) for i in range(3)]
    for run in (runs[0], runs[1], runs[0], runs[2]):
        cache.values(run, "a", kind="image", revision=1)
    for run in (runs[0], runs[1]):
        cache.values(run, "a", kind="image", revision=1)
    assert [run.decoded for run in runs] == [1, 2, 1]


def test_values_larger_than_the_limit_are_not_kept():
    run, cache = Run(size=20_000), ValueCache(max_bytes=10_000)
    cache.values(run, "a", kind="image", revision=1)
    cache.values(run, "a", kind="image", revision=1)
    assert run.decoded == 2
