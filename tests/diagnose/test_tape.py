"""Tapes: every piece of the language, what noise promises, and the cases that are made of them."""

import math

import numpy as np
import pytest

from pulseboard.diagnose.tape import BadTape, case_from_tapes, case_of_guide, tape


def values(text, **options):
    return tape(text, tag="train/loss", **options).values.tolist()


def steps(text):
    return tape(text, tag="train/loss").steps.tolist()


def test_a_number_is_one_point():
    assert values("1.4") == [1.4]


def test_a_number_may_be_held():
    assert values("1.4x3 2x2") == [1.4, 1.4, 1.4, 2.0, 2.0]


def test_a_slope_starts_at_its_number_and_moves_so_many_times():
    assert values("2.0-0.5x3") == [2.0, 1.5, 1.0, 0.5]
    assert values("2.0+0.5x2") == [2.0, 2.5, 3.0]
    assert values("1e-3-1e-4x1") == pytest.approx([1e-3, 9e-4])


def test_the_style_guides_own_tape_has_its_spike_at_step_61():
    series = tape("2.0-0.01x60 9.0 1.4x20", tag="train/loss")
    assert int(series.steps[np.argmax(series.values)]) == 61


def test_a_factor_multiplies_so_many_times():
    assert values("8*0.5x3") == [8.0, 4.0, 2.0, 1.0]


def test_an_approach_covers_most_of_its_way_in_its_first_fifth():
    course = values("4.5>1.5x200")
    assert (course[0], len(course)) == (4.5, 200)
    assert course[40] == pytest.approx(1.5 + 3.0 / math.e)
    assert course[-1] == pytest.approx(1.5, abs=0.03)


def test_a_value_that_is_not_a_number_may_be_played():
    course = values("1 nanx2 inf -inf")
    assert math.isnan(course[1])
    assert math.isnan(course[2])
    assert course[3:] == [math.inf, -math.inf]


def test_brackets_are_played_again_and_again():
    assert values("(1x2 5)x2 7") == [1, 1, 5, 1, 1, 5, 7]
    assert values("((1 2)x2 3)x2") == [1, 2, 1, 2, 3, 1, 2, 1, 2, 3]


def test_points_may_lie_apart():
    assert steps("@10 1x3") == [0, 10, 20]
    assert steps("@10 1x2 @100 2x2") == [0, 10, 20, 120]


def test_steps_may_go_back():
    assert steps("1x5 <3 2x4") == [0, 1, 2, 3, 4, 2, 3, 4, 5]


def test_noise_is_the_same_each_time_and_differs_between_tags_and_seeds():
    text = "2.0x500~0.1"
    assert values(text) == values(text)
    assert values(text) != values(text, noise_seed=1)
    assert values(text) != tape(text, tag="val/loss").values.tolist()
    assert np.std(values(text)) == pytest.approx(0.1, rel=0.1)


def test_noise_may_be_a_share_of_the_value():
    quiet, loud = np.split(tape("1x500~5% 100x500~5%", tag="time").values, 2)
    assert np.std(quiet) == pytest.approx(0.05, rel=0.1)
    assert np.std(loud) == pytest.approx(5.0, rel=0.1)


@pytest.mark.parametrize("text", ["2.0x", "x3", "2.0/3x4", "(1x2", "1x2)x3", "1x2)", "one", "@x", "2.0-0.01x60~"])
def test_text_that_is_not_a_tape_is_refused(text):
    with pytest.raises(BadTape, match="tape"):
        values(text)


def test_a_point_takes_a_second():
    assert np.diff(tape("@10 1x4", tag="train/loss").wall_times).tolist() == [1.0, 1.0, 1.0]


# ---- cases


def test_a_case_knows_its_tags_by_their_roles():
    case = case_from_tapes({"Loss/train": "2-0.01x60", "lr": "1e-3x61"}, config={"max_steps": 60})
    assert case.reading.first("train.loss") == "Loss/train"
    assert len(case.need("lr")) == 61
    assert case.planned_steps == 60
    assert case.now is None


def test_rank_0_has_the_runs_own_tapes():
    case = case_from_tapes({"rank/step_time": "1x9"}, ranks=[{"rank/step_time": "2x9"}, {"rank/step_time": "3x9"}])
    levels = [case.ranks[rank]["rank/step_time"].points().values[0] for rank in (0, 1, 2)]
    assert levels == [1.0, 2.0, 3.0]


def test_a_histograms_tape_says_how_much_of_it_is_zero():
    case = case_from_tapes({}, histograms={"Gradients/relu": "0.25+0.5x1"})
    first, second = case.histograms["Gradients/relu"]
    for histogram, share in ((first, 0.25), (second, 0.75)):
        at_zero = (histogram.lefts == 0) & (histogram.rights == 0)
        assert histogram.counts[at_zero].sum() / histogram.counts.sum() == pytest.approx(share)


def test_a_tape_that_goes_back_overlaps_itself():
    assert case_from_tapes({"train/loss": "1x30 <20 1x40"}).overlaps == 20
    assert case_from_tapes({"train/loss": "1x70"}).overlaps == 0


def test_silence_is_counted_from_the_last_point():
    case = case_from_tapes({"train/loss": "1x30"}, silence_secs=90)
    assert case.now - case.tracks["train/loss"].last_wall == 90


def test_a_guide_may_say_something_for_one_of_its_cases_only():
    front = {"fires": {"loss": "1x9"}, "quiet": {"loss": "1x9"}, "config": {"vocab_size": 8}, "fires_restarts": [4]}
    fires, quiet = case_of_guide(front, "fires"), case_of_guide(front, "quiet")
    assert (fires.context.choices, quiet.context.choices) == (8, 8)
    assert (list(fires.restarts), list(quiet.restarts)) == ([4], [])
