"""What work costs, measured without a clock, so that tests do not depend on the load of the machine."""

import sys


def bytecodes_of(work):
    """The number of bytecodes that Python executes for a piece of work in this thread."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
