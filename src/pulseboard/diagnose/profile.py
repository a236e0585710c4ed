"""Profiles: what one training system's guide says: thresholds, ranges, meanings, patterns. One TOML file each."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pulseboard.core.errors import PulseboardError
from pulseboard.core.finding import SEVERITIES, Severity
from pulseboard.diagnose.guide import default_limits
from pulseboard.diagnose.roles.resolve import BY_NAME
from pulseboard.diagnose.scorecard.check import Check, parse_check

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

GENERAL = "general"
# Vocabularies are padded or trimmed a little from one training to the next.
_ABOUT = 0.2
_KEYS = (
    "name",
    "title",
    "extends",
    "recognized_by",
    "limits",
    "severities",
    "metric",
    "pattern",
    "flow",
    "advice",
    "roles",
    "check",
    "cadence",
    "verdicts",
)


class BadProfile(PulseboardError, ValueError):
    """An invalid profile; the message says where the mistake is."""


@dataclass(frozen=True, slots=True)
class Band:
    """A range of values and what it means: healthy, warning or critical."""

    kind: str
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Expected:
    """The range of a metric at one stage of training."""

    progress: float  # share of the training, 0 to 1; NaN if the guide counts in steps
    low: float
    high: float
    value: float | None = None  # the value in the guide's own run
    step: int | None = None  # and at which of its steps; with a progress of NaN, at which step of any run


@dataclass(frozen=True, slots=True)
class ProfileMetric:
    """What a guide says about one tag."""

    tag: str  # {i}, {name} and * stand for anything
    meaning: str = ""
    expected: str = ""
    unit: str = ""
    role: str = ""
    warning_signs: tuple[str, ...] = ()
    bands: tuple[Band, ...] = ()
    stages: tuple[Expected, ...] = ()
    every: str = ""  # how often to log it, in the guide's terms
    choices: int | None = None  # the vocabulary size that the stages apply to
    dimension: int | None = None  # the embedding size that bands and stages apply to
    note: str = ""  # a footnote: what measurements say about these ranges

    def matches(self, tag: str) -> bool:
        """Whether this applies to the tag."""
        return tag_matches(self.tag, tag)

    def fitted(self, *, choices: int | None, dimension: int | None) -> ProfileMetric:
        """What applies to a run with this vocabulary and embedding size; None means unknown.

        Stages of another vocabulary are left out. Numbers that grow with the embedding are scaled to the run's.
        """
        bands, stages = self.bands, self.stages
        if self.choices is not None and not _about(choices, self.choices):
            stages = ()
        if self.dimension is not None:
            scale = (dimension or 0) / self.dimension
            bands = tuple(Band(b.kind, b.low * scale, b.high * scale) for b in bands) if scale else ()
            stages = tuple(replace(s, low=s.low * scale, high=s.high * scale) for s in stages) if scale else ()
        return replace(self, bands=bands, stages=stages)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern of curves from a guide, its likely cause and what to do."""

    name: str
    when: tuple[str, ...] = ()  # findings that make it up
    cause: str = ""
    check: tuple[str, ...] = ()
    fix: tuple[str, ...] = ()
    why: str = ""  # the cause in the guide's terms
    signs: tuple[Check, ...] = ()  # what makes it up by the guide's own numbers; all of them must be there


@dataclass(frozen=True, slots=True)
class FlowStep:
    """One branch of a guide's decision flow."""

    question: str
    when: tuple[Check, ...] = ()  # the branch is for runs that fail one of these
    checks: tuple[Check, ...] = ()
    action: str = ""


@dataclass(frozen=True, slots=True)
class Cadence:
    """How often a guide wants one category of metrics logged."""

    category: str
    every: str  # step, 100 steps, 100 to 500 steps, epoch, evaluation
    tags: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Profile:
    """One profile, including what it inherits from the general one."""

    name: str
    title: str = ""
    recognized_by: tuple[str, ...] = ()  # tags that only this system logs
    limits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    severities: Mapping[str, Severity | Literal["off"]] = field(default_factory=dict)  # slug -> its highest severity
    metrics: tuple[ProfileMetric, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    flow: tuple[FlowStep, ...] = ()  # the decision flow
    checks: tuple[Check, ...] = ()  # the guide's rules beyond ranges
    cadences: tuple[Cadence, ...] = ()
    verdicts: Mapping[str, str] = field(default_factory=dict)  # healthy, warning, critical -> the guide's own word
    advice: tuple[str, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)  # role -> tag, set by the user

    def limit(self, slug: str, name: str) -> float:
        """One threshold of a finding."""
        return float(self.limits[slug][name])

    def metric(self, tag: str) -> ProfileMetric | None:
        """What the guide says about a tag."""
        return next((metric for metric in self.metrics if metric.matches(tag)), None)

    def word(self, kind: str) -> str:
        """The guide's own word for healthy, warning or critical."""
        return self.verdicts.get(kind, kind)


def tag_matches(pattern: str, tag: str) -> bool:
    """Whether a pattern stands for a tag; {i}, {name} and * stand for anything."""
    return _pattern(pattern).fullmatch(tag) is not None


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
        raise BadProfile(f"No profile {name!r}: neither a shipped one ({known}) nor a file. Check --profile.")
    return _from_text(path.read_text(encoding="utf-8"), where=str(path))


def choose_profile(tags: Iterable[str]) -> Profile:
    """The shipped profile that recognizes most of the tags; the general one if none does."""
    tags = list(tags)
    best, most = load_profile(GENERAL), 0
    for name in shipped():
        profile = load_profile(name)
        known = sum(any(_pattern(sign).fullmatch(tag) for tag in tags) for sign in profile.recognized_by)
        if known > most and known >= min(2, len(profile.recognized_by)):
            best, most = profile, known
    return best


def _about(number: int | None, wanted: int) -> bool:
    return number is not None and abs(number - wanted) <= _ABOUT * wanted


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
    below = load_profile(base) if base else Profile(GENERAL, limits=default_limits())
    try:
        _known(table, _KEYS, "There is no part {!r} of a profile", where)
        _known(table.get("roles", {}), BY_NAME, "There is no role {!r}", where)
        limits = {slug: dict(numbers) for slug, numbers in below.limits.items()}
        if base:
            for part in ("limits", "severities"):
                _known(table.get(part, {}), limits, "There is no finding {!r}", where, strict=False)
        for slug, most in table.get("severities", {}).items():
            if most not in ("off", *SEVERITIES):
                wanted = ", ".join(("off", *SEVERITIES))
                raise BadProfile(f"The highest severity of {slug} must be one of {wanted}, not {most!r}. {where}")
        for slug, numbers in table.get("limits", {}).items():
            unknown = set(numbers) - set(limits[slug]) if base and slug in limits else set()
            if unknown:
                raise BadProfile(
                    f"{slug} has no limit {sorted(unknown)[0]!r}; it has {_names(limits.get(slug))}. {where}"
                )
            limits.setdefault(slug, {}).update({key: float(value) for key, value in numbers.items()})
        return Profile(
            name=str(table.get("name") or Path(where).stem),
            title=str(table.get("title", "")),
            recognized_by=tuple(table.get("recognized_by", ())),
            limits=limits,
            severities={**below.severities, **table.get("severities", {})},
            metrics=(*(_metric(m, where) for m in table.get("metric", ())), *below.metrics),
            patterns=(*(_pattern_of(p) for p in table.get("pattern", ())), *below.patterns),
            flow=tuple(_flow_step(step) for step in table.get("flow", ())),
            checks=tuple(parse_check(check) for check in table.get("check", ())),
            cadences=tuple(Cadence(**{**one, "tags": tuple(one["tags"])}) for one in table.get("cadence", ())),
            verdicts={**below.verdicts, **table.get("verdicts", {})},
            advice=tuple(table.get("advice", ())),
            roles={**below.roles, **table.get("roles", {})},
        )
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        if isinstance(error, BadProfile):
            raise
        raise BadProfile(
            f"The profile has the wrong structure: {error}. See docs/guides/diagnosis.md. {where}"
        ) from None


def _names(limits: Mapping[str, float] | None) -> str:
    return ", ".join(limits) if limits else "none"


def _known(given: Iterable[str], allowed: Iterable[str], complaint: str, where: str, *, strict: bool = True) -> None:
    """Reject an unknown name and suggest the closest known ones.

    If not strict, reject only names that are close to a known one: findings may come from other packages.
    """
    allowed = list(allowed)
    for name in given:
        if name not in allowed:
            import difflib

            near = difflib.get_close_matches(name, allowed, n=3, cutoff=0.5 if strict else 0.8)
            if not near and not strict:
                continue
            hint = f" Nearest: {', '.join(near)}." if near else ""
            raise BadProfile(f"{complaint.format(name)}.{hint} {where}")


def _metric(table: Mapping[str, Any], where: str) -> ProfileMetric:
    infinity = float("inf")
    if not isinstance(table.get("tag"), str):
        raise BadProfile(f'A metric needs a tag, as it is logged: tag = "train/loss". {where}')
    for kind in ("healthy", "warning", "critical"):
        try:
            list(_pairs(table.get(kind, ())))
        except (TypeError, IndexError, ValueError):
            raise BadProfile(f"{kind} of {table['tag']!r} is [low, high] or a list of such pairs. {where}") from None
    bands = tuple(
        Band(kind, low, high)
        for kind in ("healthy", "warning", "critical")
        for low, high in _pairs(table.get(kind, ()))
    )
    stages = tuple(
        Expected(
            float(s["progress"] if "progress" in s or "step" not in s else "nan"),
            float(s.get("low", -infinity)),
            float(s.get("high", infinity)),
            value=float(s["value"]) if "value" in s else None,
            step=int(s["step"]) if "step" in s else None,
        )
        for s in table.get("stage", ())
    )
    return ProfileMetric(
        tag=str(table["tag"]),
        meaning=str(table.get("meaning", "")),
        expected=str(table.get("expected", "")),
        unit=str(table.get("unit", "")),
        role=str(table.get("role", "")),
        warning_signs=tuple(table.get("warning_signs", ())),
        bands=bands,
        stages=stages,
        every=str(table.get("every", "")),
        choices=int(table["choices"]) if "choices" in table else None,
        dimension=int(table["dimension"]) if "dimension" in table else None,
        note=str(table.get("note", "")),
    )


def _pairs(value: Any) -> Iterable[tuple[float, float]]:
    """One [low, high] pair, or a list of them."""
    if not value:
        return ()
    pairs = value if isinstance(value[0], list) else [value]
    return [(float(low), float(high)) for low, high in pairs]


def _pattern_of(table: Mapping[str, Any]) -> Pattern:
    return Pattern(
        name=str(table["name"]),
        when=tuple(table.get("when", ())),
        cause=str(table.get("cause", "")),
        check=tuple(table.get("check", ())),
        fix=tuple(table.get("fix", ())),
        why=str(table.get("why", "")),
        signs=tuple(parse_check(sign) for sign in table.get("signs", ())),
    )


def _flow_step(table: Mapping[str, Any]) -> FlowStep:
    return FlowStep(
        question=str(table["question"]),
        when=tuple(parse_check(check) for check in table.get("when", ())),
        checks=tuple(parse_check(check) for check in table.get("checks", ())),
        action=str(table.get("action", "")),
    )
