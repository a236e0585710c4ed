"""Set-up for every test."""

import contextlib
import os
import signal

from hypothesis import HealthCheck, settings

# One thread for the arithmetic of torch and NumPy, in the processes that tests start too: the workers of the tests use
# all cores already, and threads that wait for each other do so in busy loops. With two threads on a busy machine of two
# cores, the tests of instruments take four times the processor time.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A busy machine must not fail a test, so nothing is timed: no deadline for an example, no limit for generating one.
# Examples are the same in every run; `pytest --hypothesis-profile explore` draws new ones.
# `make test-long` uses the profile "long".
settings.register_profile(
    "tests",
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile("long", parent=settings.get_profile("tests"), max_examples=200)
settings.register_profile("explore", parent=settings.get_profile("long"), derandomize=False)
settings.load_profile("tests")


def pytest_collection_modifyitems(items):
    """Start the files marked `early` first, so that no worker is left alone with one of them at the end."""
    items.sort(key=lambda item: item.get_closest_marker("early") is None)


# A shell that starts a command in the background makes it ignore Ctrl-C, and every process that the tests start would
# inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    with contextlib.suppress(ValueError):  # raised outside the main thread
        signal.signal(signal.SIGINT, signal.default_int_handler)
