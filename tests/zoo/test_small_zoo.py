"""A small part of the zoo, trained and scored for real; `make zoo` does the whole."""

import pytest
from zoo.build import build
from zoo.fault import all_faults
from zoo.plan import HEALTHY, MORE_DECOY_SEEDS, MORE_HEALTHY_SEEDS, Specimen, specimens
from zoo.score import judge, score

SMALL = [
    Specimen("gpt", HEALTHY, 0),
    Specimen("classifier", HEALTHY, 0),
    Specimen("gpt", "lr-too-high", 0),
    Specimen("gpt", "optimizer-not-stepping", 0),
    Specimen("gpt", "tiny-data", 0),
]


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    directory = tmp_path_factory.mktemp("zoo")
    assert build(SMALL, directory) == []
    return judge(SMALL, directory)


def test_healthy_trainings_are_left_alone(judged):
    assert {one.specimen.name: one.alarms for one in judged if one.healthy} == {
        "gpt-healthy-0": [],
        "classifier-healthy-0": [],
    }


def test_faults_are_found_and_their_causes_named_first(judged):
    faulty = [one for one in judged if not one.healthy]
    assert [one.specimen.name for one in faulty if not one.right] == []
    assert [one.specimen.name for one in faulty if one.rank_of_cause != 0] == []


def test_the_score_counts_what_was_judged(judged):
    found = score(judged)
    assert (found.faulty, found.found, found.healthy, found.flagged) == (3, 3, 2, 0)


def test_a_good_part_of_the_plan_is_kept_aside_and_names_are_unique():
    plan = list(specimens())
    assert len({one.name for one in plan}) == len(plan)
    more = [one for one in plan if _is_one_of_many(one)]
    others = [one for one in plan if one not in more]
    assert 0.3 < sum(one.aside for one in others) / len(others) < 0.6
    assert more
    assert all(one.aside for one in more)  # healthy ones that only count false alarms
    assert {one.base for one in plan} == {"gpt", "moe", "classifier", "hjepa", "diffusion"}


def _is_one_of_many(one):
    if one.fault == HEALTHY:
        return one.seed in MORE_HEALTHY_SEEDS
    return all_faults()[one.fault].decoy and one.seed in MORE_DECOY_SEEDS
