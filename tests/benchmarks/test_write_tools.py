"""The loggers of the writing benchmark: what is not installed is reported, and a smoke test installs nothing."""

from benchmarks.write.environments import python_for
from benchmarks.write.tools import Tool


def test_a_tool_that_is_not_installed_has_no_interpreter():
    class Absent(Tool):
        id, label, modules = "absent", "absent", ("a_module_that_nobody_has",)

    assert python_for(Absent, install=True) is None


def test_a_smoke_test_installs_nothing():
    class Tracker(Tool):
        id, label, modules, requirement = "tracker", "tracker", ("a_module_that_nobody_has",), "no-such-package"

    assert python_for(Tracker, install=False) is None
