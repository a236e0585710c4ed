"""Reading without garbage collection: it creates many objects and drops few, so looking through them finds nothing."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# Fewer new objects are looked through in less than a millisecond.
_MANY = 10_000


@contextmanager
def uncollected() -> Iterator[None]:
    """Turn off garbage collection in this block, and treat what it created as permanent if that is a lot.

    For a thousand runs of event files that saves a tenth of the time.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if gc.get_count()[0] > _MANY and not gc.get_freeze_count():
            # Moves all objects to the oldest generation. If the program has frozen some, they must stay frozen.
            gc.freeze()
            gc.unfreeze()
        gc.enable()
