"""For every test."""

import contextlib
import signal

# A shell that starts a command in the background has it ignore Ctrl-C, and with it every process that tests start and
# stop that way.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    with contextlib.suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGINT, signal.default_int_handler)
