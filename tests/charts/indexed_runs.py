"""Helpers that read runs through a disk index."""

from log_directories import all_of

import pulseboard as pb
from pulseboard.charts.index import Index


def read(top, **options):
    """The runs, read through a new index; and the index."""
    index = Index(**options)
    return pb.read(top, cache=index), index


def read_and_save(top, **options):
    """Everything the runs contain, after saving it in the index."""
    runs, index = read(top, **options)
    index.close()
    return all_of(runs)


def index_files(cache):
    return sorted(path for path in cache.rglob("*") if path.is_file())
