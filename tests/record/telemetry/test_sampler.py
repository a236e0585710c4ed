"""The sampler, and the rates of counters."""

from __future__ import annotations

import time

from record.telemetry.fake_sources import Clock, tape

from pulseboard.record.telemetry import Metric, Sample, Source, Telemetry, all_metrics
from pulseboard.record.telemetry.rates import Rates
from pulseboard.record.telemetry.source import Unavailable, all_sources
from pulseboard.record.telemetry.sources.gpu import METRICS as GPU_METRICS
from pulseboard.record.telemetry.sources.host import METRICS as HOST_METRICS
from pulseboard.record.telemetry.sources.torch_memory import METRICS as TORCH_METRICS

# ---------- the sampler


def test_the_first_tick_samples_and_the_next_waits_for_the_interval():
    clock, logged = Clock(), []
    telemetry = Telemetry(
        logged.append, clock=clock, interval_secs=10, sources=[tape("a", *(Sample({"a": n}) for n in range(9)))]
    )
    telemetry.tick()
    clock.now_secs += 9.9
    telemetry.tick()
    assert logged == [{"a": 0}]
    clock.now_secs += 0.1
    telemetry.tick()
    assert logged == [{"a": 0}, {"a": 1}]


def test_all_sources_are_logged_in_one_call():
    logged = []
    Telemetry(logged.append, sources=[tape("a", Sample({"a": 1})), tape("b", Sample({"b": 2}))]).sample()
    assert logged == [{"a": 1, "b": 2}]


def test_nothing_is_logged_if_nothing_was_measured():
    logged = []
    Telemetry(logged.append, sources=[tape("a", Sample())]).sample()
    assert logged == []


def test_a_source_that_fails_is_dropped_with_one_message_and_the_others_go_on(capsys):
    logged = []
    good, bad = tape("good", *(Sample({"a": n}) for n in range(3))), tape("bad", Sample({"b": 0}), OSError("broken"))
    telemetry = Telemetry(logged.append, sources=[bad, good])
    for _ in range(3):
        telemetry.sample()
    assert logged == [{"b": 0, "a": 0}, {"a": 1}, {"a": 2}]
    stderr = capsys.readouterr().err
    assert stderr.count("\n") == 1
    assert "No bad telemetry from now on: OSError: broken. Training" in stderr


def test_a_source_that_cannot_be_opened_is_reported_once(capsys):
    class Closed(Source):
        id = "closed"

        def __init__(self, run_directory: str) -> None:
            raise Unavailable("there is none here")

    logged = []
    telemetry = Telemetry(logged.append, sources=[Closed, tape("a", Sample({"a": 1}), Sample({"a": 2}))])
    telemetry.sample()
    telemetry.sample()
    assert logged == [{"a": 1}, {"a": 2}]
    assert capsys.readouterr().err.count("\n") == 1


def test_nothing_is_opened_before_the_first_sample():
    opened = []

    class Opening(Source):
        def __init__(self, run_directory: str) -> None:
            opened.append(run_directory)

        def sample(self, now_secs: float) -> Sample:
            return Sample()

    telemetry = Telemetry(print, run_directory="/runs/1", sources=[Opening])
    assert opened == []
    telemetry.sample()
    assert opened == ["/runs/1"]


def test_records_go_to_their_callback_or_become_scalars():
    state = {"log": "gpu", "id": 2, "power": 350000, "dram_free": 8 << 30, "throttle": ""}
    logged, recorded = [], []
    Telemetry(logged.append, recorded.append, sources=[tape("a", Sample(records=[state]))]).sample()
    assert (logged, recorded) == ([], [state])
    Telemetry(logged.append, sources=[tape("a", Sample(records=[state]))]).sample()
    assert logged == [{"gpu/2/power": 350000, "gpu/2/dram_free": 8192}]


def test_every_source_is_found_and_declares_its_tags():
    assert [cls.id for cls in all_sources()] == ["gpu", "host", "torch_memory"]
    metrics = all_metrics()
    assert metrics["memory/ram_main_process_gb"].unit == "GiB"
    assert set(metrics) == {*GPU_METRICS, *HOST_METRICS, *TORCH_METRICS}
    assert all(isinstance(metric, Metric) and metric.unit and metric.meaning for metric in metrics.values())


def test_this_machine_can_be_sampled(tmp_path, capsys):
    logged = []
    telemetry = Telemetry(logged.append, run_directory=str(tmp_path))
    telemetry.sample()
    time.sleep(0.05)  # processor time is counted in hundredths of a second
    telemetry.sample()
    telemetry.close()
    assert {tag for tag in HOST_METRICS if tag not in logged[0]} <= {
        "system/cpu", "system/disk_read", "system/disk_write", "system/network_received", "system/network_sent",
    }  # fmt: skip
    assert HOST_METRICS.keys() <= logged[1].keys()
    assert capsys.readouterr().err.count("\n") <= 1  # of the GPU, where there is none


# ---------- rates


def test_a_rate_is_the_rise_over_the_time():
    rates = Rates()
    assert rates.per_sec({"a": 100}, 10.0) == {}
    assert rates.per_sec({"a": 300}, 14.0) == {"a": 50.0}


def test_a_counter_that_was_reset_has_no_rate_in_that_sample():
    rates = Rates()
    rates.per_sec({"a": 100}, 10.0)
    assert rates.per_sec({"a": 20}, 11.0) == {}
    assert rates.per_sec({"a": 30}, 12.0) == {"a": 10.0}
