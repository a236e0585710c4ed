"""Schemas that several endpoints share."""

from __future__ import annotations

from typing import Any

from pulseboard.serve.http import schema
from pulseboard.serve.security import safe_regex

REGEX = schema.string("a regular expression", max_length=safe_regex.MAX_LENGTH)
RUN = schema.string("name or alias of a run")
RUNS = schema.array(RUN, "names or aliases of runs", max_items=20_000)
RUN_FILTER = {**RUNS, "description": "only these runs; all runs if absent"}
TAG = schema.string("a tag")
STEP = schema.integer(minimum=-(2**63), maximum=2**63)
ORPHANS = schema.boolean("include orphaned points, which a restart replaced", default=False)
NAMES = schema.array(schema.string(), max_items=1_000_000)
STATUS = schema.choice("ok", "info", "warning", "critical", "unknown")


AXIS = schema.named_record(
    "Axis",
    {
        "kind": schema.choice("step", "epoch", "epoch x iteration", "row", description="what the steps count"),
        "columns": NAMES,
        "steps_per_epoch": schema.nullable(schema.number("if both are known")),
        "note": schema.string("how the steps were found, if the log does not simply have them"),
    },
)


def list_with_revision(name: str, items: schema.Schema) -> dict[str, Any]:
    """A list and the revision it belongs to."""
    fields = {"revision": schema.integer(), name: schema.array(items, max_items=1_000_000)}
    return schema.record(fields, required=tuple(fields))
