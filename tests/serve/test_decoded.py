"""Decoded values: kept while the run is the same and there is room."""

from dataclasses import dataclass

from pulseboard.serve.decoded import Decoded


@dataclass
class Picture:
    frames: tuple


class Run:
    def __init__(self, name="run", size=10):
        self.name, self.size, self.asked = name, size, 0

    def values(self, tag, *, kind):
        self.asked += 1
        return [Picture((bytes(self.size),))]


def test_a_second_question_decodes_nothing():
    run, kept = Run(), Decoded()
    first = kept.values(run, "a", kind="image", revision=1)
    assert kept.values(run, "a", kind="image", revision=1) is first
    assert run.asked == 1


def test_a_run_that_has_changed_is_decoded_anew():
    run, kept = Run(), Decoded()
    kept.values(run, "a", kind="image", revision=1)
    kept.values(run, "a", kind="image", revision=2)
    kept.values(run, "a", kind="image", revision=2)
    assert run.asked == 2


def test_memory_is_bounded_and_what_was_not_asked_for_longest_goes():
    kept = Decoded(most_bytes=10_000)
    runs = [Run(str(i), size=3_000) for i in range(3)]
    for run in (runs[0], runs[1], runs[0], runs[2]):
        kept.values(run, "a", kind="image", revision=1)
    for run in (runs[0], runs[1]):
        kept.values(run, "a", kind="image", revision=1)
    assert [run.asked for run in runs] == [1, 2, 1]


def test_what_is_larger_than_the_bound_is_never_kept():
    run, kept = Run(size=20_000), Decoded(most_bytes=10_000)
    kept.values(run, "a", kind="image", revision=1)
    kept.values(run, "a", kind="image", revision=1)
    assert run.asked == 2
