"""Published runs that were judged healthy, as samples: what a healthy run of a stranger shows.

Healthy trainings of our own never have a tiny learning rate or a loss without noise; those of others often do.
"""

from collections.abc import Iterator

from pulseboard.core.errors import PulseboardError
from pulseboard.diagnose.cases import case_of, trainings
from pulseboard.read.runs import read
from zoo.scoring.cause_weights import Sample, points_of, sample_of
from zoo.scoring.verdicts import COLLECTIONS, SHARED, all_verdicts

# Of one folder: some have a hundred runs of the same kind.
MOST_PER_FOLDER = 3
MOST_POINTS = 300_000


def samples_of_published() -> Iterator[Sample]:
    """Healthy runs of ../shared; nothing if it is not there."""
    if not all((SHARED / name).is_dir() for name in COLLECTIONS):
        return
    healthy: dict[str, set[str]] = {}
    for verdict in all_verdicts():
        if verdict.kind == "healthy":
            healthy.setdefault(verdict.folder, set()).add(verdict.run)
    for folder, names in sorted(healthy.items()):
        try:
            found = [one for one in trainings(read(SHARED / folder)) if f"{folder}/{one.name}" in names]
        except PulseboardError:
            continue
        for training in [one for one in found if points_of(one) <= MOST_POINTS][:MOST_PER_FOLDER]:
            yield sample_of(training.name, "published", "published", (), frozenset(), case_of(training))
