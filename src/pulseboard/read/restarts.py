"""Restarts: which points of a column a later restart has orphaned, as TensorBoard decides it.

A job that dies at step 900 and resumes from its checkpoint of step 800 logs 800 to 900 twice. What
the first attempt logged from step 800 on is orphaned. Two things in a file tell of a restart:

* a session-start record at step S: every point before it with a step >= S is orphaned;
* in files without a version record, an event whose step falls below the greatest so far: the earlier
  points of the event's own tags with a step >= its step are orphaned.

The kernel notes both as cuts while it reads; here they become a mask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pulseboard.native.kernel import Cuts

NEVER = 2**63 - 1  # a limit that keeps every step


def limits_from(restart_steps: list[int], *, later: int) -> list[int]:
    """For each restart of a file, the least step among it and all that follow; `later` is of the next files."""
    limits = [later]
    for step in reversed(restart_steps):
        limits.append(min(step, limits[-1]))
    limits.reverse()
    return limits


def least_own_cut(cuts: Cuts) -> int:
    """The least step at which a column of this file orphans the same tag's points in earlier files."""
    return min((below for _, below, restart in cuts[1] if restart < 0), default=NEVER)


def orphaned_mask(steps: NDArray[np.int64], cuts: Cuts, limits: list[int], *, later: int) -> NDArray[np.bool_]:
    """True where a point is orphaned. `limits` are the file's own, `later` the tag's from later files."""
    import numpy as np

    seen, own = cuts
    limit = min(limits[seen], later)  # of the points after the last cut
    if limit == NEVER and not own:
        return np.zeros(len(steps), np.bool_)
    ends, keep_below = [len(steps)], [limit]
    for at, below, restart in reversed(own):
        limit = min(limit, below if restart < 0 else limits[restart])
        ends.append(at)
        keep_below.append(limit)
    ends.reverse()
    keep_below.reverse()
    starts = [0, *ends[:-1]]
    counts = [end - start for start, end in zip(starts, ends, strict=True)]
    return steps >= np.repeat(np.array(keep_below, np.int64), counts)
