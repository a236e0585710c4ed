"""A small part of the zoo, really trained and scored; `make zoo` does all of it."""

import pytest
from zoo.build import build
from zoo.fault import all_faults
from zoo.plan import HEALTHY, MORE_DECOY_SEEDS, MORE_HEALTHY_SEEDS, PlannedTraining, planned_trainings
from zoo.score import judge, score

pytestmark = pytest.mark.early

TWO = [PlannedTraining("gpt", HEALTHY, 0), PlannedTraining("gpt", "lr-too-high", 0)]
FIVE = [
    *TWO,
    PlannedTraining("classifier", HEALTHY, 0),
    PlannedTraining("gpt", "optimizer-not-stepping", 0),
    PlannedTraining("gpt", "tiny-data", 0),
]


@pytest.fixture(
    scope="module", params=[pytest.param(TWO, id="two"), pytest.param(FIVE, id="five", marks=pytest.mark.long)]
)
def judged(tmp_path_factory, request):
    directory = tmp_path_factory.mktemp("zoo")
    assert build(request.param, directory) == []
    return judge(request.param, directory)


def test_healthy_trainings_have_no_alarms(judged):
    alarms = {one.training.name: one.alarms for one in judged if one.healthy}
    assert "gpt-healthy-0" in alarms
    assert {name: found for name, found in alarms.items() if found} == {}


def test_faults_are_found_with_the_correct_cause_first(judged):
    faulty = [one for one in judged if not one.healthy]
    assert faulty
    assert [one.training.name for one in faulty if not one.right] == []
    assert [one.training.name for one in faulty if one.rank_of_cause != 0] == []


def test_the_score_counts_what_was_judged(judged):
    found = score(judged)
    healthy = sum(one.healthy for one in judged)
    faulty = len(judged) - healthy
    assert (found.faulty, found.found, found.healthy, found.flagged) == (faulty, faulty, healthy, 0)


def test_much_of_the_plan_is_held_out_and_names_are_unique():
    plan = list(planned_trainings())
    assert len({one.name for one in plan}) == len(plan)
    extra = [one for one in plan if _counts_false_alarms(one)]
    others = [one for one in plan if one not in extra]
    assert 0.3 < sum(one.held_out for one in others) / len(others) < 0.6
    assert extra
    assert all(one.held_out for one in extra)  # healthy trainings that only count false alarms
    assert {one.base for one in plan} == {"gpt", "moe", "classifier", "hjepa", "diffusion"}


def _counts_false_alarms(one):
    if one.fault == HEALTHY:
        return one.seed in MORE_HEALTHY_SEEDS
    return all_faults()[one.fault].decoy and one.seed in MORE_DECOY_SEEDS
