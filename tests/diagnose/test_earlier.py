"""Runs compared with earlier ones of the same task: where a curve leaves their band, and where it stays in it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pulseboard as pb
from pulseboard.core.errors import PulseboardError
from pulseboard.diagnose.detector import all_detectors, run_detectors
from pulseboard.diagnose.diagnosis import report_on
from pulseboard.diagnose.earlier import Earlier
from pulseboard.diagnose.stats.band import band_of, departure
from pulseboard.diagnose.tape import case_from_tapes

GOOD = [f"4.5>{floor}x400~2%" for floor in (1.50, 1.52, 1.49, 1.51, 1.48)]


def earlier(*tapes, tag="train/loss", **config):
    cases = [case_from_tapes({"train/loss": GOOD[0], tag: text}, config=config) for text in tapes]
    for i, case in enumerate(cases):
        case.path = f"earlier/{i}"
    return Earlier(cases)


def found(slug, tapes, before, **config):
    case = case_from_tapes(tapes, config=config)
    case.path, case.earlier = "new", before
    seen = run_detectors(case, [all_detectors()[slug]])
    return [(one.severity, one.metric) for one in seen.findings]


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        ("4.5>1.505x400~2%", []),
        ("4.5>1.53x400~2%", []),
        ("4.5>1.8x400~2%", [("warning", "train/loss")]),
        ("4.5>1.5x250~2% 2.4>1.5x150~2%", [("info", "train/loss")]),  # away for a while, and back
        ("4.5>1.2x400~2%", [("info", "train/loss")]),  # better than all of them
    ],
)
def test_a_loss_above_the_band_to_the_end_is_a_warning(loss, said):
    assert found("out-of-expected-range", {"train/loss": loss}, earlier(*GOOD)) == said


def test_fewer_than_three_runs_make_no_band():
    assert found("out-of-expected-range", {"train/loss": "4.5>3x400~2%"}, earlier(*GOOD[:2])) == []


def test_a_run_is_not_held_against_itself():
    case = case_from_tapes({"train/loss": "4.5>3x400~2%"})
    case.path = "a"
    others = earlier(*GOOD[:2])
    case.earlier = Earlier([*others.cases, case])
    assert case.departure("train.loss") is None  # two others are too few


def test_runs_are_laid_side_by_side_by_samples_where_their_batches_are_known():
    """Half the batch takes twice the steps: by samples the two are alike, by steps the new one lags behind."""
    slow = {"train/loss": "4.5>1.5x800~2%"}
    assert found("out-of-expected-range", slow, earlier(*GOOD, batch_size=64), batch_size=32) == []
    assert found("out-of-expected-range", slow, earlier(*GOOD)) != []


def test_gradients_a_whole_number_of_times_as_large_are_a_sum():
    good = [f"{level}x400~5%" for level in (1.0, 1.02, 0.98)]
    before = earlier(*good, tag="train/grad_norm")
    for norm, said in ((8, [("warning", "train/grad_norm")]), (1.01, []), (2.5, [])):
        tapes = {"train/loss": GOOD[0], "train/grad_norm": f"{norm}x400~5%"}
        assert found("gradient-scale-off", tapes, before, optimizer="sgd") == said


def test_updates_three_times_as_large_are_found_below_the_usual_limit():
    before = earlier(*[f"{level}x400~5%" for level in (1e-3, 1.02e-3, 0.98e-3)], tag="train/update_ratio")
    for ratio, said in ((6e-3, [("warning", "train/update_ratio")]), (2e-3, []), (1e-3, [])):
        tapes = {"train/loss": GOOD[0], "train/update_ratio": f"{ratio}x400~5%"}
        assert found("update-too-large", tapes, before) == said


def test_a_plateau_above_earlier_runs_is_a_warning():
    high, low = {"train/loss": "4.5>2.0x80~1% 2.0x320~1%"}, {"train/loss": "4.5>1.5x80~1% 1.5x320~1%"}
    before = earlier(*[f"4.5>{floor}x80~1% {floor}x320~1%" for floor in (1.5, 1.51, 1.49)])
    assert found("loss-plateau", high, before) == [("warning", "train/loss")]
    assert found("loss-plateau", low, before) == [("info", "train/loss")]


def test_without_earlier_runs_nothing_is_held_against_any():
    assert found("out-of-expected-range", {"train/loss": "4.5>3x400~2%"}, None) == []


@given(st.integers(0, 10_000), st.integers(3, 8))
def test_a_curve_from_the_same_source_stays_in_the_band_at_its_end(seed, runs):
    random = np.random.default_rng(seed)
    x = np.arange(300.0)

    def curve():
        return x, 1 + 3 * np.exp(-x / 60) + 0.05 * random.normal(size=300)

    band = band_of([curve() for _ in range(runs)])
    found = departure(*curve(), band, times=4, floor=0.03, from_x=0)
    assert found is None or not (found.lasting and found.share >= 0.25)


def test_curves_that_share_no_steps_have_no_band():
    a, b = np.arange(10.0), np.arange(20.0, 30.0)
    assert band_of([(a, a), (b, b)]) is None


def written(directory, name, floor, seed):
    random = np.random.default_rng(seed)
    with pb.SummaryWriter(directory / name) as writer:
        for step in range(300):
            writer.add_scalar("train/loss", floor + 3 * np.exp(-step / 60) + 0.02 * random.normal(), step)


def test_earlier_runs_are_named_by_their_paths(tmp_path):
    for seed in range(4):
        written(tmp_path / "good", f"seed{seed}", 1.0, seed)
    written(tmp_path / "new", "worse", 1.4, 9)
    written(tmp_path / "new", "alike", 1.0, 10)
    found = pb.diagnose(tmp_path / "new", against=tmp_path / "good")
    slugs = {report.run: [f.slug for f in report.findings if f.severity != "info"] for report in found}
    assert slugs == {"alike": [], "worse": ["out-of-expected-range"]}
    # Each of the good ones compared with the others.
    assert pb.diagnose(tmp_path / "good", against=[tmp_path / "good"]).status in ("ok", "info")
    with pytest.raises(PulseboardError, match="comparing needs 3"):
        pb.diagnose(tmp_path / "new", against=tmp_path / "new")


def test_the_report_is_the_same_each_time():
    case = case_from_tapes({"train/loss": "4.5>1.8x400~2%"})
    case.earlier = earlier(*GOOD)
    assert report_on(case) == report_on(case)
