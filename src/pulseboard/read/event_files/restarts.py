"""Restarts: which points a later restart orphaned, by TensorBoard's rules.

A job that dies at step 900 and resumes from its checkpoint at step 800 logs steps 800 to 900 twice. What
the first attempt logged from step 800 on is orphaned. Two things in a file mark a restart:

* a session-start record at step S: every point before it with a step >= S is orphaned;
* in files without a version record, an event whose step is below the greatest so far: earlier points of
  the event's own tags with a step >= its step are orphaned.

The kernel records both as cuts while it reads. This module turns the cuts into a mask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulseboard.core.axes import Step

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pulseboard.kernel.reader import Cuts

NO_LIMIT = 2**63 - 1  # keeps every step


def limits_from(restart_steps: list[Step], *, later_limit: Step) -> list[Step]:
    """For each restart of a file, the smallest step of it and all later restarts.

    `later_limit` is that of the files that follow; it is the last element.
    """
    limits = [later_limit]
    for step in reversed(restart_steps):
        limits.append(min(step, limits[-1]))
    limits.reverse()
    return limits


def min_own_cut(cuts: Cuts) -> Step:
    """The smallest step from which a column of this file orphans points of the same tag in earlier files."""
    return min((below for _, below, restart in cuts[1] if restart < 0), default=NO_LIMIT)


def orphaned_mask(steps: NDArray[np.int64], cuts: Cuts, limits: list[Step], *, later_limit: Step) -> NDArray[np.bool_]:
    """True for each orphaned point. `limits` are the file's own; `later_limit` is the tag's, from later files."""
    import numpy as np

    restarts_seen, own_cuts = cuts
    limit = min(limits[restarts_seen], later_limit)  # of the points after the last cut
    if limit == NO_LIMIT and not own_cuts:
        return np.zeros(len(steps), np.bool_)
    ends, keep_below = [len(steps)], [limit]
    for index, below, restart in reversed(own_cuts):
        limit = min(limit, below if restart < 0 else limits[restart])
        ends.append(index)
        keep_below.append(limit)
    ends.reverse()
    keep_below.reverse()
    starts = [0, *ends[:-1]]
    counts = [end - start for start, end in zip(starts, ends, strict=True)]
    return steps >= np.repeat(np.array(keep_below, np.int64), counts)
