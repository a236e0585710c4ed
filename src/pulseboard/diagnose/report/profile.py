"""A profile as readable Markdown: what it expects of one kind of training."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.diagnose.profile import Band, Expected, Profile, ProfileMetric, load_profile
from pulseboard.diagnose.scorecard.check import Check

_INFINITY = float("inf")


def profile_text(profile: Profile) -> str:
    """The whole page: metrics with their ranges, its own thresholds, the decision flow, patterns, advice."""
    return "\n".join(_lines(profile)).rstrip() + "\n"


def _lines(profile: Profile) -> Iterator[str]:
    yield f"# {profile.title or profile.name}\n"
    yield f"The profile `{profile.name}`."
    if profile.recognized_by:
        where = "this is" if len(profile.recognized_by) == 1 else "two of these are"
        yield f"Selected automatically if {where} logged: {', '.join(f'`{tag}`' for tag in profile.recognized_by)}"
    own = _own_limits(profile)
    if profile.metrics:
        yield "\n## Metrics\n"
    for metric in profile.metrics:
        yield from _metric_lines(metric)
    if own:
        yield "\n## Thresholds\n"
        yield from (f"- `{slug}` {name}: {value:g}" for slug, name, value in own)
    if profile.severities:
        yield "\n## Highest severity\n"
        yield from (f"- `{slug}`: {most}" for slug, most in profile.severities.items())
    if profile.checks:
        yield "\n## Checks\n"
        yield from (f"- {_check(check)}{f' {check.then}' if check.then else ''}" for check in profile.checks)
    if profile.flow:
        yield "\n## Where to look\n"
    for step in profile.flow:
        yield f"### {step.question}\n"
        yield from (f"- {_check(check)}" for check in step.checks)
        yield f"\nThen: {step.action}\n"
    if profile.patterns:
        yield "\n## Patterns\n"
    for pattern in profile.patterns:
        yield f"### {pattern.name}\n"
        cause = f"{pattern.why} (`{pattern.cause}`)" if pattern.why else f"`{pattern.cause}`"
        yield f"Shows as {', '.join(f'`{slug}`' for slug in pattern.when)}; probably {cause}.\n"
        yield from (f"- Look at: {check}" for check in pattern.check)
        yield from (f"- {fix}" for fix in pattern.fix)
        yield ""
    if profile.advice:
        yield "\n## Advice\n"
        yield from (f"- {line}" for line in profile.advice)


def _own_limits(profile: Profile) -> list[tuple[str, str, float]]:
    """The thresholds that differ from the general ones; for the general profile, all of them."""
    general = load_profile("general").limits
    return [
        (slug, name, value)
        for slug, limits in profile.limits.items()
        for name, value in limits.items()
        if profile.name == "general" or general.get(slug, {}).get(name) != value
    ]


def _metric_lines(metric: ProfileMetric) -> Iterator[str]:
    unit = f" ({metric.unit})" if metric.unit else ""
    every = f" Log it every {metric.every}." if metric.every else ""
    yield f"- `{metric.tag}`{unit}: {metric.meaning} {metric.expected}{every}".replace("  ", " ").rstrip()
    for band in metric.bands:
        yield f"  - {band.kind}: {_range(band)}"
    if metric.stages:
        yield f"  - by progress: {', '.join(_stage(stage) for stage in metric.stages)}"
    if metric.choices:
        yield f"  - for a vocabulary of about {metric.choices:,}"
    if metric.dimension:
        yield f"  - for {metric.dimension} dimensions; scaled to the run's own"
    for sign in metric.warning_signs:
        yield f"  - warning sign: {sign}"


def _check(check: Check) -> str:
    return f"`{check.tag}`: {check.ask}" if check.tag else check.ask


def _range(band: Band | Expected) -> str:
    if band.low == -_INFINITY and band.high == _INFINITY:
        return ""
    if band.low == -_INFINITY:
        return f"below {band.high:g}"
    if band.high == _INFINITY:
        return f"above {band.low:g}"
    return f"{band.low:g} to {band.high:g}" if band.high > band.low else f"{band.low:g}"


def _stage(stage: Expected) -> str:
    at = f"{100 * stage.progress:.0f} %" if stage.step is None else f"step {stage.step:,}"
    about = "" if stage.value is None else f" (about {stage.value:g})"
    return f"{at} {_range(stage)}{about}".replace("  ", " ")
