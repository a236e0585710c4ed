"""Restarts: what a resumed job orphans is left out as TensorBoard leaves it out, and stays available, marked."""

import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from builders import event_file, scalar, scalars, session_start, summary, tensor, version
from hypothesis import example, given
from hypothesis import strategies as st
from reference import accumulate, assert_same_histograms, bits, points_of, scalars_by_tensorboard
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary
from tensorboard.util import tensor_util
from torch.utils.tensorboard import SummaryWriter

import pulseboard as pb


def run_of(directory, *files):
    """The run that these lists of events make, one file each."""
    for i, events in enumerate(files):
        (Path(directory) / f"events.out.tfevents.{i}").write_bytes(event_file(*events))
    return pb.read(directory)["."]


def steps(run, tag="loss", **options):
    return run.series(tag, **options).steps.tolist()


def marked(run, tag="loss"):
    series = run.series(tag, orphans=True)
    return series.steps[series.orphaned].tolist()


# ---- in words


def test_a_session_start_orphans_what_was_logged_from_its_step_on(tmp_path):
    first = [version(), *scalars("loss", (0, 0.0), (1, 1.0), (2, 2.0), (3, 3.0))]
    run = run_of(tmp_path, [*first, session_start(2), *scalars("loss", (2, 20.0), (3, 30.0))])
    assert points_of(run.series("loss")) == [(0, 100, 0), (1, 101, 1), (2, 102, 20), (3, 103, 30)]
    assert marked(run) == [2, 3]
    assert steps(run, orphans=True) == [0, 1, 2, 3, 2, 3]


def test_a_session_start_past_the_last_step_orphans_nothing(tmp_path):
    run = run_of(
        tmp_path, [version(), *scalars("loss", (0, 0.0), (1, 1.0)), session_start(2), *scalars("loss", (2, 2.0))]
    )
    assert steps(run) == [0, 1, 2]
    assert marked(run) == []


def test_a_session_start_reaches_into_the_files_before_its_own(tmp_path):
    run = run_of(
        tmp_path,
        [version(), *scalars("loss", (0, 0.0), (5, 5.0)), *scalars("only/before", (4, 4.0), (6, 6.0))],
        [version(), session_start(5), *scalars("loss", (5, 50.0))],
    )
    assert points_of(run.series("loss")) == [(0, 100, 0), (5, 105, 50)]
    assert steps(run, "only/before") == [4]
    assert marked(run, "only/before") == [6]
    assert [(restart.step, restart.wall_time) for restart in run.restarts()] == [(5, 2.0)]


def test_other_session_records_are_not_restarts(tmp_path):
    stop = Event(step=0, wall_time=2.0, session_log=SessionLog(status=SessionLog.STOP))
    checkpoint = Event(step=0, wall_time=2.0, session_log=SessionLog(status=SessionLog.CHECKPOINT))
    run = run_of(tmp_path, [version(), *scalars("loss", (0, 0.0), (5, 5.0)), stop, checkpoint])
    assert steps(run) == [0, 5]
    assert run.restarts() == []


def test_a_falling_step_is_kept_in_a_file_with_a_version_record(tmp_path):
    run = run_of(tmp_path, [version(), *scalars("loss", (0, 0.0), (5, 5.0), (3, 3.0))])
    assert steps(run) == [0, 5, 3]
    assert marked(run) == []


def test_a_falling_step_orphans_its_tag_in_a_file_without_a_version_record(tmp_path):
    events = [*scalars("loss", (0, 0.0), (5, 5.0)), *scalars("other", (5, 5.0)), *scalars("loss", (3, 3.0))]
    run = run_of(tmp_path, events)
    assert steps(run) == [0, 3]
    assert marked(run) == [5]
    assert steps(run, "other") == [5]


def test_after_two_restarts_each_step_is_there_once(tmp_path):
    run = run_of(
        tmp_path,
        [version(), *scalars("loss", *((s, s) for s in range(10)))],
        [version(), session_start(7), *scalars("loss", *((s, s + 100) for s in range(7, 10)))],
        [version(), session_start(4), *scalars("loss", *((s, s + 200) for s in range(4, 12)))],
    )
    assert steps(run) == list(range(12))
    assert run.series("loss").values.tolist() == [0, 1, 2, 3, *(s + 200 for s in range(4, 12))]
    assert len(marked(run)) == 9


def test_torchs_purge_step_orphans_the_tail(tmp_path):
    with SummaryWriter(tmp_path, filename_suffix=".1") as writer:
        for step in range(10):
            writer.add_scalar("loss", step, step, walltime=step)
            writer.add_histogram("weights", np.arange(step + 1), step)
    with SummaryWriter(tmp_path, purge_step=6, filename_suffix=".2") as writer:
        for step in range(6, 12):
            writer.add_scalar("loss", -step, step, walltime=step)
            writer.add_histogram("weights", np.arange(step + 1), step)
    run = pb.read(tmp_path)["."]
    want = accumulate(tmp_path)
    assert bits(points_of(run.series("loss"))) == bits(scalars_by_tensorboard(want)["loss"])
    assert run.series("loss").values.tolist() == [0, 1, 2, 3, 4, 5, -6, -7, -8, -9, -10, -11]
    assert marked(run) == [6, 7, 8, 9]
    assert_same_histograms(run.histograms("weights"), want.Histograms("weights"))
    assert [h.step for h in run.histograms("weights")] == list(range(12))
    assert len(run.values("weights", kind="histogram", orphans=True)) == 16


def test_two_writers_in_one_directory_are_joined(tmp_path):
    with (
        SummaryWriter(tmp_path, filename_suffix=".a") as first,
        SummaryWriter(tmp_path, filename_suffix=".b") as second,
    ):
        for step in range(5):
            first.add_scalar("train/loss", step, step, walltime=step)
            second.add_scalar("validation/loss", -step, step, walltime=step + 0.5)
            second.add_scalar("train/loss", step * 10, step, walltime=step + 0.5)
    run = pb.read(tmp_path)["."]
    assert len(run.files) == 2
    assert steps(run, "validation/loss") == [0, 1, 2, 3, 4]
    assert sorted(run.series("train/loss").values.tolist()) == [0, 0, 1, 2, 3, 4, 10, 20, 30, 40]
    assert marked(run, "train/loss") == []


def test_statistics_leave_orphaned_points_out(tmp_path):
    first = [version(), *scalars("loss", (0, 1.0), (1, 900.0), (2, float("nan")))]
    run = run_of(tmp_path, [*first, session_start(1), *scalars("loss", (1, 2.0))])
    (stats,) = run.stats()
    assert (stats.count, stats.nan_count, stats.min, stats.max, stats.last, stats.last_step) == (2, 0, 1, 2, 2, 1)


def test_a_tag_with_only_orphaned_points_is_empty_but_listed(tmp_path):
    run = run_of(tmp_path, [version(), *scalars("gone", (5, 1.0)), session_start(0), *scalars("loss", (0, 1.0))])
    assert run.tags("scalar") == ["gone", "loss"]
    assert steps(run, "gone") == []
    assert {stats.tag: stats.count for stats in run.stats()} == {"gone": 0, "loss": 1}


# ---- against TensorBoard, on lists of events that nobody would think of

STEPS = st.integers(-2, 6)
TAGS = st.sampled_from(["a", "b"])
VERSIONS = st.sampled_from(["brain.Event:2", "brain.Event:1", "brain.Event:3.5", "brain.Event:x", "", "2"])


def _histogram(tag, number):
    proto = HistogramProto(min=0, max=number, num=1, sum=number, sum_squares=number**2)
    proto.bucket_limit.extend([number, 1e9])
    proto.bucket.extend([1, 0])
    return Summary.Value(tag=tag, histo=proto)


@st.composite
def events(draw, *, tensors=False):
    """A list of Events. Each value is a number of its own, so that points cannot be mistaken for others."""
    out = []
    for number in range(draw(st.integers(0, 14))):
        kind = draw(
            st.sampled_from(["scalar"] * 4 + ["pair", "histogram", "start", "start", "stop", "version", "nothing"])
        )
        step, tag = draw(STEPS), draw(TAGS)
        one = _tensor_scalar if tensors else scalar
        if kind == "scalar":
            event = summary(one(tag, number), step=step)
        elif kind == "pair":
            event = summary(one("a", number), _histogram("h", number + 0.5), one("b", number + 0.25), step=step)
        elif kind == "histogram":
            event = summary(_histogram(draw(st.sampled_from(["h", "a"])), number), step=step)
        elif kind == "start":
            event = session_start(step)
        elif kind == "stop":
            event = Event(step=step, session_log=SessionLog(status=SessionLog.STOP))
        elif kind == "version":
            event = version(draw(VERSIONS))
            event.step = step
        else:
            event = Event(step=step)
        event.wall_time = 1000.0 + number
        out.append(event)
    return out


def _tensor_scalar(tag, number):
    return tensor(tag, tensor_util.make_tensor_proto(np.float32(number)))


def _files(**options):
    whole = st.builds(lambda more: [version(), *more], events(**options))
    return st.lists(whole | events(**options), min_size=1, max_size=3)


@given(_files())
@example([[*scalars("a", (5, 1.0)), *scalars("a", (3, 2.0))], [*scalars("a", (2, 3.0))]])
@example([[version(), *scalars("a", (5, 1.0))], [*scalars("a", (3, 2.0))], [version(), session_start(4)]])
@example([[version(), *scalars("a", (5, 1.0))], [session_start(3)]])
@example([[version(), *scalars("a", (5, 1.0))], [session_start(3), version("brain.Event:1")]])
def test_the_orphaned_points_are_those_that_tensorboard_purges(files):
    with tempfile.TemporaryDirectory() as directory:
        run = run_of(directory, *files)
        want = accumulate(directory)
        scalars_wanted = {tag: points for tag, points in scalars_by_tensorboard(want).items() if points}
        kept = {tag: points_of(run.series(tag)) for tag in run.tags("scalar")}
        assert {tag: points for tag, points in kept.items() if points} == scalars_wanted
        for tag in run.tags("histogram"):
            events = want.Histograms(tag) if tag in want.Tags()["histograms"] else []
            assert_same_histograms(run.histograms(tag), events)
        everything = _all_points(files)
        for tag, points in kept.items():
            both = run.series(tag, orphans=True)
            assert points_of(both) == everything[tag]
            assert [p for p, lost in zip(points_of(both), both.orphaned, strict=True) if not lost] == points


def _all_points(files):
    out = defaultdict(list)
    for event in (event for events in files for event in events):
        for value in event.summary.value:
            if value.WhichOneof("value") == "simple_value":
                out[value.tag].append((event.step, event.wall_time, value.simple_value))
    return out


@given(_files(tensors=True))
def test_scalars_in_tensor_form_are_orphaned_by_the_same_rule(files):
    """Against the rule written plainly: the data API purges no tensors, though the dashboard does."""
    with tempfile.TemporaryDirectory() as directory:
        run = run_of(directory, *files)
        kept = {tag: points_of(run.series(tag)) for tag in run.tags("scalar")}
        assert {tag: points for tag, points in kept.items() if points} == _kept_by_the_rule(files)


def _kept_by_the_rule(files):
    """TensorBoard's rule, one event after the other: slow, and easy to check by eye."""
    kept = defaultdict(list)
    file_version, most_recent_step = 0.0, -1
    for event in (event for events in files for event in events):
        what = event.WhichOneof("what")
        if what == "file_version":
            try:
                file_version = float(event.file_version.split("brain.Event:")[-1])
            except ValueError:
                file_version = -1.0
        if file_version >= 2:
            if what == "session_log" and event.session_log.status == SessionLog.START:
                for tag in kept:
                    kept[tag] = [point for point in kept[tag] if point[0] < event.step]
        elif what == "summary" and event.step < most_recent_step:
            for tag in {value.tag for value in event.summary.value}:
                kept[tag] = [point for point in kept[tag] if point[0] < event.step]
        else:
            most_recent_step = event.step
        for value in event.summary.value:
            if value.WhichOneof("value") == "tensor":
                number = float(tensor_util.make_ndarray(value.tensor))
                kept[value.tag].append((event.step, event.wall_time, number))
    return {tag: points for tag, points in kept.items() if points}


def test_a_session_start_before_the_version_record_is_judged_by_the_version_of_the_previous_file(tmp_path):
    run = run_of(tmp_path, [version(), *scalars("loss", (5, 1.0))], [session_start(3), version()])
    assert accumulate(tmp_path).Scalars("loss") == []
    assert steps(run) == []


def test_a_tag_that_is_twice_in_an_event_with_a_falling_step_keeps_both_points(tmp_path):
    back = summary(scalar("loss", 3.0), scalar("loss", 4.0), step=3, wall_time=3.0)
    run = run_of(tmp_path, [*scalars("loss", (0, 0.0), (5, 5.0)), back])
    assert points_of(run.series("loss")) == scalars_by_tensorboard(accumulate(tmp_path))["loss"]
    assert run.series("loss").values.tolist() == [0, 3, 4]


@pytest.mark.parametrize("cut", range(1, 5))
def test_a_restart_orphans_the_same_points_whether_it_is_read_later_or_at_once(tmp_path, cut):
    first = [version(), *scalars("loss", (0, 0.0), (1, 1.0), (2, 2.0))]
    later = [session_start(1), *scalars("loss", (1, 10.0)), session_start(0), *scalars("loss", (0, 100.0))]
    path = tmp_path / "events.out.tfevents.0"
    path.write_bytes(event_file(*first))
    log = pb.read(tmp_path)
    with path.open("ab") as stream:
        stream.write(event_file(*later[:cut]))
    assert log.poll().grown == (".",)
    fresh = pb.read(tmp_path)["."].series("loss", orphans=True)
    followed = log["."].series("loss", orphans=True)
    assert points_of(followed) == points_of(fresh)
    assert followed.orphaned.tolist() == fresh.orphaned.tolist()
