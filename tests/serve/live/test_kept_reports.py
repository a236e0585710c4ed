"""Reports in memory: old ones are compressed, and none is lost."""

import tracemalloc

from pulseboard.serve.live.kept_reports import KeptReports


def report(i):
    findings = [{"slug": f"loss-{k}", "severity": "warning", "summary": f"step {i} " * 20} for k in range(20)]
    return {"run": f"run{i}", "status": "warning", "findings": findings}


def test_reports_come_back_as_they_were():
    reports = KeptReports(max_ready=3)
    for i in range(10):
        reports.put(f"run{i}", report(i))
    assert [reports.get(f"run{i}") for i in range(10)] == [report(i) for i in range(10)]
    assert (len(reports), reports.status("run1"), reports.get("run99")) == (10, "warning", None)
    assert reports.severities("run1")["loss-3"] == "warning"
    reports.put("run1", {**report(1), "status": "ok", "findings": []})
    assert reports.status("run1") == "ok"
    assert reports.get("run1")["findings"] == []


def test_a_removed_report_is_gone():
    reports = KeptReports(max_ready=1)
    for i in range(3):
        reports.put(f"run{i}", report(i))
        reports.remove("run0")
    assert "run0" not in reports
    assert reports.get("run0") is None


def test_thousands_of_reports_take_a_fraction_of_their_size():
    def held(count, **options):
        tracemalloc.start()
        reports = KeptReports(**options)
        for i in range(count):
            reports.put(f"run{i}", report(i))
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return size

    assert held(1000, max_ready=20) < held(1000, max_ready=1000) / 4
    assert held(1000) < held(1000, max_ready=1000) / 2  # by default too
