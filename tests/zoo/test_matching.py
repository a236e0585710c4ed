"""Which run a verdict is about, and which runs are one training."""

from zoo.scoring.matching import cases, find
from zoo_samples import diagnosed, headline, verdict

LIGHTNING = diagnosed("logs/version_1", names=("logs/version_1", "logs/version_1/metrics.csv"))
OTHER = diagnosed("logs/version_10", names=("logs/version_10", "logs/version_10/metrics.csv"))
WHOLE = diagnosed(".", names=(".", "trainer_state.json"), points=5000)


def test_a_run_is_found_by_its_name_its_files_and_the_directories_around_it():
    folder = [LIGHTNING, OTHER]
    assert find("logs/version_1", folder) is LIGHTNING
    assert find("logs/version_10/metrics.csv", folder) is OTHER
    assert find("logs/version_1/events.out.tfevents.1", folder) is LIGHTNING
    assert find("logs/version_2", folder) is None


def test_a_row_that_names_the_folder_means_the_run_of_the_whole_folder():
    assert find("", [LIGHTNING, WHOLE]) is WHOLE
    assert find(".", [LIGHTNING, WHOLE]) is WHOLE


def test_among_several_runs_of_a_directory_the_longest_is_meant():
    longer = diagnosed("logs/version_2", points=2000)
    assert find("logs", [LIGHTNING, longer, OTHER]) is longer


def test_the_first_verdict_on_a_run_counts():
    first, second = verdict("logs/version_1", "nan"), verdict("logs/version_1/metrics.csv", "healthy")
    (case,) = cases([LIGHTNING], [first, second])
    assert case.verdict is first


def test_runs_of_one_training_count_once_and_so_does_what_both_say():
    event_file = diagnosed("train", headline("loss-spike"), headline("loss-spike"))
    table = diagnosed("train/results.csv", headline("loss-spike"), headline("overfitting"), same_as="train")
    (case,) = cases([table, event_file], [verdict("train/results.csv", "healthy")])
    assert case.id == "wild/a+b/train"
    assert [line.slug for line in case.alarms] == ["loss-spike", "loss-spike", "overfitting"]
    assert case.verdict.label == "healthy"


def test_the_verdict_on_the_longest_run_of_a_training_counts():
    runs = [diagnosed("whole"), diagnosed("a", same_as="whole", points=10), diagnosed("b", same_as="whole", points=20)]
    (case,) = cases(runs, [verdict("a", "insufficient-data"), verdict("b", "nan")])
    assert case.verdict.label == "nan"


def test_a_verdict_may_say_that_two_runs_are_one_training():
    one, two = diagnosed("one"), diagnosed("two")
    rows = [verdict("one", "nan"), verdict("two", "nan", same_as="wild/a+b/one")]
    assert [case.id for case in cases([one, two], rows)] == ["wild/a+b/one"]


def test_a_verdict_without_a_run_is_kept_and_runs_without_a_verdict_are_too():
    lost = verdict("gone", "nan")
    found = cases([LIGHTNING], [lost])
    assert [(case.id, case.verdict, len(case.runs)) for case in found] == [
        ("wild/a+b/logs/version_1", None, 1),
        ("wild/a+b/gone", lost, 0),
    ]
