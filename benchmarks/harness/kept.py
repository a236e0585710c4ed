"""Parts that were measured: each is kept in a file at once, so a run that is cut off loses only the part it was at.

`--resume` continues with the parts of the same commit and options. Without it, a run begins with none.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.harness.report import Check, Part


class KeptParts:
    """The parts of one benchmark, in the order in which they were measured, and why others have no figures."""

    def __init__(self, file: Path, *, of: dict[str, Any], resume: bool) -> None:
        self.file = file
        # What the figures depend on: the commit and the options.
        self.of = of
        self.parts: dict[str, Part] = {}
        # Cores that others used during the samples.
        self.others: list[float] = []
        # The names of parts that were not measured, with the reason.
        self.unmeasured: dict[str, str] = {}
        if resume and file.exists():
            found = json.loads(file.read_text(encoding="utf-8"))
            if found["of"] == of:
                self.parts = {name: _part(fields) for name, fields in found["parts"].items()}
                self.others = found["others"]

    def keep(self, name: str, part: Part, others: list[float]) -> None:
        """Add a part, and write all of them."""
        self.parts[name] = part
        self.others = others
        kept = {name: asdict(part) for name, part in self.parts.items()}
        text = json.dumps({"of": self.of, "others": self.others, "parts": kept}, indent=1)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        # Renamed into place: a kill while it is written leaves the parts before.
        new = self.file.with_suffix(".new")
        new.write_text(text, encoding="utf-8")
        new.replace(self.file)


def _part(fields: dict[str, Any]) -> Part:
    return Part(**{**fields, "checks": [Check(**check) for check in fields["checks"]]})
