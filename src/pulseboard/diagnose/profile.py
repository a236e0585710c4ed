"""Profiles: what one training system's guide says: limits, expected ranges, meanings, patterns. One TOML file each."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pulseboard.core.errors import PulseboardError
from pulseboard.core.finding import Severity

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

GENERAL = "general"


class BadProfile(PulseboardError, ValueError):
    """A profile that cannot be used; the message says where it is wrong."""


@dataclass(frozen=True, slots=True)
class Band:
    """A range of values and what it means: healthy, warning or critical."""

    kind: str
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Expected:
    """The range of a metric at one stage of training."""

    progress: float  # share of the training, 0 to 1
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Metric:
    """What a guide says of one tag."""

    tag: str  # {i}, {name} and * stand for anything
    meaning: str = ""
    expected: str = ""
    unit: str = ""
    role: str = ""
    warning_signs: tuple[str, ...] = ()
    bands: tuple[Band, ...] = ()
    stages: tuple[Expected, ...] = ()
    every: str = ""  # how often to log it, in the guide's terms

    def matches(self, tag: str) -> bool:
        """Whether this is about the tag."""
        return _pattern(self.tag).fullmatch(tag) is not None


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern of curves that a guide knows, its likely cause and what to do."""

    name: str
    when: tuple[str, ...] = ()  # findings that make it up
    cause: str = ""
    check: tuple[str, ...] = ()
    fix: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Profile:
    """One profile, with what it takes over from the general one."""

    name: str
    title: str = ""
    recognised_by: tuple[str, ...] = ()  # tags that only this system logs
    limits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    severities: Mapping[str, Severity | Literal["off"]] = field(default_factory=dict)  # slug -> the gravest it may be
    metrics: tuple[Metric, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    flow: tuple[Mapping[str, Any], ...] = ()  # the decision flow: question, checks, action
    advice: tuple[str, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)  # role -> tag, as the user says

    def limit(self, slug: str, name: str) -> float:
        """One number of a finding's."""
        return float(self.limits[slug][name])

    def metric(self, tag: str) -> Metric | None:
        """What the guide says of a tag."""
        return next((metric for metric in self.metrics if metric.matches(tag)), None)


def shipped() -> list[str]:
    """The names of the profiles that come with Pulseboard, the general one first."""
    names = [file.name.removesuffix(".toml") for file in _directory().iterdir() if file.name.endswith(".toml")]
    return sorted(names, key=lambda name: (name != GENERAL, name))


@lru_cache(maxsize=32)
def load_profile(name: str) -> Profile:
    """A profile by its name, or from a user's own file."""
    if name in shipped():
        return _from_text((_directory() / f"{name}.toml").read_text(encoding="utf-8"), where=f"profile {name!r}")
    path = Path(name).expanduser()
    if not path.exists():
        known = ", ".join(shipped())
        raise BadProfile(f"There is no profile {name!r}, neither shipped ({known}) nor as a file. Check --profile.")
    return _from_text(path.read_text(encoding="utf-8"), where=str(path))


def choose_profile(tags: Iterable[str]) -> Profile:
    """The shipped profile that knows most of the tags by names that are its own; the general one where none does."""
    tags = list(tags)
    best, most = load_profile(GENERAL), 0
    for name in shipped():
        profile = load_profile(name)
        known = sum(any(_pattern(sign).fullmatch(tag) for tag in tags) for sign in profile.recognised_by)
        if known > most and known >= min(2, len(profile.recognised_by)):
            best, most = profile, known
    return best


def _directory() -> Any:
    return resources.files("pulseboard.diagnose").joinpath("profiles")


@lru_cache(maxsize=4096)
def _pattern(tag: str) -> re.Pattern[str]:
    parts = re.split(r"(\{\w+\}|\*)", tag)
    return re.compile("".join(".+" if re.fullmatch(r"\{\w+\}|\*", part) else re.escape(part) for part in parts))


def _from_text(text: str, *, where: str) -> Profile:
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadProfile(f"Not a TOML file: {error}. In {where}") from None
    base = table.get("extends", None if table.get("name") == GENERAL else GENERAL)
    below = load_profile(base) if base else Profile(GENERAL)
    try:
        limits = {slug: dict(numbers) for slug, numbers in below.limits.items()}
        for slug, numbers in table.get("limits", {}).items():
            unknown = set(numbers) - set(limits.get(slug, {})) if base else set()
            if unknown:
                raise BadProfile(
                    f"{slug} has no limit {sorted(unknown)[0]!r}; it has {_names(limits.get(slug))}. {where}"
                )
            limits.setdefault(slug, {}).update({key: float(value) for key, value in numbers.items()})
        return Profile(
            name=str(table.get("name") or Path(where).stem),
            title=str(table.get("title", "")),
            recognised_by=tuple(table.get("recognised_by", ())),
            limits=limits,
            severities={**below.severities, **table.get("severities", {})},
            metrics=(*(_metric(m) for m in table.get("metric", ())), *below.metrics),
            patterns=(*(_pattern_of(p) for p in table.get("pattern", ())), *below.patterns),
            flow=tuple(table.get("flow", ())),
            advice=tuple(table.get("advice", ())),
            roles={**below.roles, **table.get("roles", {})},
        )
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        if isinstance(error, BadProfile):
            raise
        raise BadProfile(
            f"The profile does not have the shape it should: {error}. See docs/diagnosis.md. {where}"
        ) from None


def _names(limits: Mapping[str, float] | None) -> str:
    return ", ".join(limits) if limits else "none"


def _metric(table: Mapping[str, Any]) -> Metric:
    infinity = float("inf")
    bands = tuple(
        Band(kind, float(low), float(high))
        for kind in ("healthy", "warning", "critical")
        for low, high in _pairs(table.get(kind, ()))
    )
    stages = tuple(
        Expected(float(s["progress"]), float(s.get("low", -infinity)), float(s.get("high", infinity)))
        for s in table.get("stage", ())
    )
    return Metric(
        tag=str(table["tag"]),
        meaning=str(table.get("meaning", "")),
        expected=str(table.get("expected", "")),
        unit=str(table.get("unit", "")),
        role=str(table.get("role", "")),
        warning_signs=tuple(table.get("warning_signs", ())),
        bands=bands,
        stages=stages,
        every=str(table.get("every", "")),
    )


def _pairs(value: Any) -> Iterable[tuple[float, float]]:
    """One [low, high] pair, or a list of them."""
    if not value:
        return ()
    return [tuple(pair) for pair in value] if isinstance(value[0], list) else [(value[0], value[1])]


def _pattern_of(table: Mapping[str, Any]) -> Pattern:
    return Pattern(
        name=str(table["name"]),
        when=tuple(table.get("when", ())),
        cause=str(table.get("cause", "")),
        check=tuple(table.get("check", ())),
        fix=tuple(table.get("fix", ())),
    )
