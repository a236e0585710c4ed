"""alerts.toml: where messages go, and which runs and findings are worth one."""

from __future__ import annotations

import datetime
import difflib
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulseboard.core.errors import PulseboardError
from pulseboard.core.finding import SEVERITIES, Severity
from pulseboard.diagnose.guide import guide_slugs

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_HOURS = re.compile(r"^(\d\d?):(\d\d)\s*-\s*(\d\d?):(\d\d)$")


class BadRules(PulseboardError):
    """alerts.toml cannot be used."""

    def __init__(self, path: str, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(f"{why} In: {path}")


@dataclass(frozen=True, slots=True)
class Destination:
    """Where messages go: an Apprise URL (Slack, Discord, Teams, email, ntfy, …), or a webhook that takes JSON."""

    name: str
    url: str
    is_webhook: bool


@dataclass(frozen=True, slots=True)
class QuietHours:
    """Hours of the local day in which messages are held back; they may pass midnight."""

    start: datetime.time
    end: datetime.time

    def ends_at(self, now: float) -> float | None:
        """When the quiet hours that `now` is in end; None outside of them."""
        local = datetime.datetime.fromtimestamp(now)
        inside = (
            self.start <= local.time() < self.end
            if self.start <= self.end
            else local.time() >= self.start or local.time() < self.end
        )
        if not inside:
            return None
        end = datetime.datetime.combine(local.date(), self.end)
        return (end if end > local else end + datetime.timedelta(days=1)).timestamp()


@dataclass(frozen=True, slots=True)
class Rule:
    """What is worth a message, and to whom."""

    to: tuple[str, ...]  # names of destinations
    severity: Severity = "warning"
    findings: frozenset[str] = frozenset()  # only incidents with one of these; empty: any
    runs: re.Pattern[str] = re.compile("")
    quiet: QuietHours | None = None
    stalled_secs: float | None = None
    ended: bool = False

    def wants(self, severity: Severity, slugs: Iterable[str]) -> bool:
        """Whether an incident with this severity and findings is worth a message."""
        if SEVERITIES.index(severity) < SEVERITIES.index(self.severity):
            return False
        return not self.findings or not self.findings.isdisjoint(slugs)


@dataclass(frozen=True, slots=True)
class Rules:
    """A parsed alerts.toml."""

    path: str
    destinations: dict[str, Destination]
    rules: tuple[Rule, ...]
    link: str = ""  # the address of the dashboard
    chart: bool = True


def read_rules(path: str | os.PathLike[str]) -> Rules:
    """Read alerts.toml. Raises BadRules, which says what is wrong and where."""
    name = os.fspath(path)
    try:
        return parse_rules(Path(path).read_text(encoding="utf-8"), name)
    except OSError as error:
        raise BadRules(name, f"Cannot read the rules: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise BadRules(name, f"The rules are not valid TOML: {error}.") from None


def parse_rules(text: str, name: str) -> Rules:
    """The rules that the text of the file `name` states. Raises BadRules."""
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadRules(name, f"The rules are not valid TOML: {error}.") from None
    return _Parser(name).rules(given)


class _Parser:
    """Turns parsed TOML into rules; every error names the table and the key."""

    def __init__(self, path: str) -> None:
        self._path = path

    def rules(self, given: Mapping[str, Any]) -> Rules:
        self._known(given, "the file", ("destination", "rule", "link", "chart"))
        destinations = self._destinations(given.get("destination", []))
        rules = given.get("rule", [{}])
        if not isinstance(rules, list):
            raise self._bad("Write each rule as [[rule]].")
        link = self._text(given, "link", "the file", "")
        parsed = tuple(self._rule(one, f"rule {i}", destinations) for i, one in enumerate(rules, 1))
        return Rules(self._path, destinations, parsed, link.rstrip("/"), self._flag(given, "chart", "the file", True))

    def _destinations(self, given: Any) -> dict[str, Destination]:
        if not isinstance(given, list) or not given:
            raise self._bad(
                'There is no destination. Add [[destination]] with a name and a url or webhook = "https://…".'
            )
        found: dict[str, Destination] = {}
        for i, one in enumerate(given, 1):
            where = f"destination {i}"
            self._known(one, where, ("name", "url", "webhook"))
            if ("url" in one) == ("webhook" in one):
                raise self._bad(f"{where.capitalize()} needs either url or webhook.")
            kind = "url" if "url" in one else "webhook"
            url = self._expanded(self._text(one, kind, where, ""), where)
            if kind == "webhook" and not url.startswith(("http://", "https://")):
                raise self._bad(f"The webhook of {where} must start with http:// or https://.")
            name = self._text(one, "name", where, kind if len(given) == 1 else f"{kind}-{i}")
            if name in found:
                raise self._bad(f"Two destinations are named {name!r}.")
            found[name] = Destination(name, url, kind == "webhook")
        return found

    def _rule(self, one: Mapping[str, Any], where: str, destinations: Mapping[str, Destination]) -> Rule:
        self._known(one, where, ("to", "severity", "findings", "runs", "quiet", "stalled_secs", "ended"))
        to = self._texts(one, "to", where) or tuple(destinations)
        for name in to:
            if name not in destinations:
                raise self._bad(f"{where.capitalize()} names the destination {name!r}, which does not exist.")
        severity = self._text(one, "severity", where, "warning")
        if severity not in SEVERITIES:
            raise self._bad(f"The severity of {where} is {severity!r}; use one of {', '.join(SEVERITIES)}.")
        findings = self._texts(one, "findings", where)
        for slug in findings:
            if slug not in guide_slugs():
                near = _near(slug, guide_slugs())
                raise self._bad(f"{where.capitalize()} names the finding {slug!r}, which does not exist.{near}")
        stalled = one.get("stalled_secs")
        if stalled is not None and (not isinstance(stalled, int | float) or isinstance(stalled, bool) or stalled <= 0):
            raise self._bad(f"stalled_secs of {where} must be a positive number.")
        return Rule(
            to,
            severity,
            frozenset(findings),
            self._pattern(self._text(one, "runs", where, ""), where),
            self._quiet(one, where),
            stalled,
            self._flag(one, "ended", where, False),
        )

    def _quiet(self, one: Mapping[str, Any], where: str) -> QuietHours | None:
        if "quiet" not in one:
            return None
        text = self._text(one, "quiet", where, "")
        found = _HOURS.match(text)
        try:
            if found is None:
                raise ValueError
            a, b, c, d = map(int, found.groups())
            return QuietHours(datetime.time(a, b), datetime.time(c, d))
        except ValueError:
            raise self._bad(f'quiet of {where} is {text!r}; write hours as "22:00-07:00".') from None

    def _pattern(self, text: str, where: str) -> re.Pattern[str]:
        try:
            return re.compile(text)
        except re.error as error:
            raise self._bad(f"runs of {where} is not a regular expression: {text!r}: {error}.") from None

    def _expanded(self, text: str, where: str) -> str:
        """With environment variables, so that secrets need not be in the file."""
        expanded = os.path.expandvars(text)
        if missing := re.search(r"\$\{?(\w+)\}?", expanded):
            raise self._bad(f"The environment variable {missing[1]} of {where} is not set.")
        return expanded

    def _known(self, table: Any, where: str, keys: tuple[str, ...]) -> None:
        if not isinstance(table, Mapping):
            raise self._bad(f"{where.capitalize()} must be a table.")
        for key in table:
            if key not in keys:
                raise self._bad(f"Unknown setting {key!r} in {where}.{_near(key, keys)}")

    def _text(self, table: Mapping[str, Any], key: str, where: str, default: str) -> str:
        value = table.get(key, default)
        if not isinstance(value, str):
            raise self._bad(f"{key} of {where} must be text, not {value!r}.")
        return value

    def _texts(self, table: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
        value = table.get(key, [])
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
            raise self._bad(f"{key} of {where} must be a list of texts, not {value!r}.")
        return tuple(values)

    def _flag(self, table: Mapping[str, Any], key: str, where: str, default: bool) -> bool:
        value = table.get(key, default)
        if not isinstance(value, bool):
            raise self._bad(f"{key} of {where} must be true or false, not {value!r}.")
        return value

    def _bad(self, why: str) -> BadRules:
        return BadRules(self._path, why)


def _near(word: str, known: Any) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
