"""The rules for alerts: seen, changed and tested on the page. The addresses of destinations never leave the server."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pulseboard.core.errors import PulseboardError
from pulseboard.core.finding import SEVERITIES
from pulseboard.serve.http import schema
from pulseboard.serve.http.endpoint import ApiRequest, endpoint
from pulseboard.serve.http.errors import BadRequest, CannotStore, Conflict, NotFound
from pulseboard.serve.live.dashboard import Dashboard
from pulseboard.serve.security.safe_regex import SafeRegex

# The room of alerts is imported where it is used: every start loads the routes, and most servers send nothing.
if TYPE_CHECKING:
    from pulseboard.alerts.rules import Destination
    from pulseboard.alerts.rules_file import Content, RulesFile
    from pulseboard.alerts.rules_text import Kind

_MAX_SHOWN = 20
_VARIABLE = re.compile(r"\$\{?\w+\}?")
# What a rule says if it does not say it.
_DEFAULTS: Mapping[str, Any] = {
    "to": [],
    "severity": "warning",
    "findings": [],
    "runs": "",
    "quiet": None,
    "stalled_secs": None,
    "ended": False,
}

_NAME = schema.string(max_length=200, min_length=1)
_RULE = schema.named_record(
    "AlertRule",
    {
        "to": schema.array(_NAME, "names of destinations; empty: all", max_items=100),
        "severity": schema.choice(*SEVERITIES, description="at least this"),
        "findings": schema.array(_NAME, "only incidents with one of these; empty: any", max_items=500),
        "runs": schema.string("a regular expression that the names of runs match", max_length=2000),
        "quiet": schema.nullable(schema.string("local hours without messages: 22:00-07:00", max_length=20)),
        "stalled_secs": schema.nullable(schema.number("a message if nothing was logged for so long")),
        "ended": schema.boolean("a message when a recorded run ends"),
    },
)
_DESTINATION = schema.named_record(
    "AlertDestination",
    {
        "name": _NAME,
        "kind": schema.choice("url", "webhook"),
        "shown": schema.string("what can be shown of its address"),
    },
)
_ALERTS = schema.named_record(
    "Alerts",
    {
        "file": schema.nullable(schema.string("null: this server sends no messages")),
        "version": schema.string("of the file; a change names the one that it changes"),
        "problem": schema.nullable(schema.string("why the file cannot be used")),
        "link": schema.string("the dashboard's address in messages"),
        "destinations": schema.array(_DESTINATION, max_items=100_000),
        "rules": schema.array(_RULE, max_items=100_000),
        "findings": schema.array(schema.string(), "all findings that a rule can name", max_items=100_000),
    },
)
_VERSION = schema.string(max_length=100)
_INDEX = schema.nullable(schema.integer("null: a new one", maximum=100_000))


@endpoint("GET", "alerts", "The rules by which this server sends messages.", lane="quick", returns=_ALERTS)
def alerts(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    file = dashboard.alerts
    if file is None:
        return _described(None, None, None)
    from pulseboard.alerts.rules import BadRules

    try:
        return _described(file, file.read(), None)
    except BadRules as error:
        return _described(file, None, error.why)


@endpoint(
    "PUT",
    "alerts/rule",
    "Add, change or remove a rule; null removes it.",
    body=schema.record(
        {"version": _VERSION, "index": _INDEX, "rule": schema.nullable(_RULE)}, required=("version", "index", "rule")
    ),
    returns=_ALERTS,
    full_role=True,
)
def set_rule(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    file, index, rule = _file(dashboard), request["index"], request["rule"]
    if rule is not None:
        _check_time(rule["runs"], dashboard)
    with _errors_for_people(file):
        before = _table(file.read(), "rule", index)
        return _changed(file, "rule", index, None if rule is None else _rule_table(before, rule), request["version"])


@endpoint(
    "PUT",
    "alerts/destination",
    "Add, change or remove a destination; null removes it. Without an address, it keeps the one it has.",
    body=schema.record(
        {
            "version": _VERSION,
            "index": _INDEX,
            "destination": schema.nullable(
                schema.record(
                    {
                        "name": _NAME,
                        "kind": schema.choice("url", "webhook"),
                        "address": schema.nullable(schema.string(max_length=4000)),
                    },
                    required=("name", "kind", "address"),
                )
            ),
        },
        required=("version", "index", "destination"),
    ),
    returns=_ALERTS,
    full_role=True,
)
def set_destination(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    file, index, given = _file(dashboard), request["index"], request["destination"]
    with _errors_for_people(file):
        content = file.read()
        before = _table(content, "destination", index)
        if given is None:
            if len(content.rules.destinations) == 1 and content.tables.get("rule"):
                raise BadRequest("The rules need a destination.", do="Add another one, or remove the rules first.")
            return _changed(file, "destination", index, None, request["version"])
        return _changed(file, "destination", index, _destination_table(before, given), request["version"])


@endpoint(
    "POST",
    "alerts/test",
    "Send a test message to a destination. `error` is null if it has arrived.",
    body=schema.record({"destination": _NAME}, required=("destination",)),
    returns=schema.record({"error": schema.nullable(schema.string())}, required=("error",)),
    full_role=True,
)
def send_test(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    from pulseboard.alerts.message import test_message
    from pulseboard.alerts.sending import send

    file = _file(dashboard)
    with _errors_for_people(file):
        rules = file.read().rules
    destination = rules.destinations.get(request["destination"])
    if destination is None:
        raise NotFound(f"There is no destination named {request['destination']!r}.")
    try:
        send(test_message(rules.link), destination, chart=rules.chart)
    except PulseboardError as error:
        return {"error": str(error).replace(destination.url, "…")}
    except Exception as error:  # whatever a service raises; its text may contain the address
        return {"error": f"The service failed with {type(error).__name__}."}
    return {"error": None}


_MATCHES = schema.named_record(
    "AlertMatches",
    {
        "runs": schema.integer("how many runs the rule is about"),
        "incidents": schema.array(
            schema.record(
                {"run": schema.string(), "severity": schema.choice(*SEVERITIES), "headline": schema.string()},
                required=("run", "severity", "headline"),
            ),
            "what it would send now",
            max_items=_MAX_SHOWN,
        ),
        "more": schema.integer("how many incidents are left out"),
    },
)


@endpoint(
    "POST",
    "alerts/matches",
    "Which runs and incidents a rule is about at this moment. Sends nothing.",
    body=schema.record({"rule": _RULE}, required=("rule",)),
    returns=_MATCHES,
    full_role=True,
)
def matches(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    from pulseboard.alerts.rules import parse_rules
    from pulseboard.alerts.rules_text import with_table

    file = _file(dashboard)
    _check_time(request["rule"]["runs"], dashboard)
    with _errors_for_people(file):
        text = with_table(_AS_FILE, "rule", None, _rule_table({}, {**request["rule"], "to": []}))
        (rule,) = parse_rules(text, file.path).rules
    reports = dashboard.diagnosis.report(dashboard.run_names(None))["runs"]
    concerned = [report for report in reports if rule.runs.search(report["run"])]
    found = [
        {"run": report["run"], "severity": incident["severity"], "headline": incident["headline"]}
        for report in concerned
        for incident in report["incidents"]
        if rule.wants(incident["severity"], [report["findings"][i]["slug"] for i in incident["findings"]])
    ]
    found.sort(key=lambda one: -SEVERITIES.index(one["severity"]))
    return {
        "runs": len(concerned),
        "incidents": found[:_MAX_SHOWN],
        "more": max(0, len(found) - _MAX_SHOWN),
    }


# A rule is parsed in a file, and a file has a destination.
_AS_FILE = '[[destination]]\nname = "any"\nwebhook = "http://localhost"\n'


def _file(dashboard: Dashboard) -> RulesFile:
    if dashboard.alerts is None:
        raise Conflict("This server sends no messages.", do="Start it with --alerts alerts.toml.")
    return dashboard.alerts


def _check_time(pattern: str, dashboard: Dashboard) -> None:
    """Refuse a regular expression that would hold up the server: every diagnosis searches the name of its run."""
    SafeRegex(pattern).filter(dashboard.runs)


@contextlib.contextmanager
def _errors_for_people(file: RulesFile) -> Iterator[None]:
    from pulseboard.alerts.rules import BadRules
    from pulseboard.alerts.rules_file import ChangedMeanwhile
    from pulseboard.alerts.rules_text import NotEditable

    try:
        yield
    except BadRules as error:
        raise BadRequest(error.why) from error
    except (ChangedMeanwhile, NotEditable) as error:
        raise Conflict(str(error)) from error
    except OSError as error:
        raise CannotStore(
            f"Cannot save the rules: {error.strerror}.", do=f"Check the permissions and the space. {file.path}"
        ) from error


def _changed(
    file: RulesFile, kind: Kind, index: int | None, table: Mapping[str, Any] | None, version: str
) -> dict[str, Any]:
    return _described(file, file.change(kind, index, table, version=version), None)


def _table(content: Content, kind: Kind, index: int | None) -> Mapping[str, Any]:
    if index is None:
        return {}
    tables = content.tables.get(kind, [])
    if index >= len(tables):
        raise NotFound(f"There is no {kind} {index + 1}.", do="Look at the rules again.")
    table: Mapping[str, Any] = tables[index]
    return table


def _rule_table(before: Mapping[str, Any], rule: Mapping[str, Any]) -> dict[str, Any]:
    """A rule as TOML: what differs from the defaults, and what the file says about it already."""
    table: dict[str, Any] = {}
    for key, default in _DEFAULTS.items():
        value = rule[key]
        if key in before and _as_list(before[key], default) == value:
            table[key] = before[key]
        elif value is not None and (value != default or key in before or key == "severity"):
            table[key] = int(value) if key == "stalled_secs" and value == int(value) else value
    return table


def _as_list(value: Any, default: Any) -> Any:
    return [value] if isinstance(default, list) and isinstance(value, str) else value


def _destination_table(before: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    name, kind, address = given["name"], given["kind"], (given["address"] or "").strip()
    if not address:
        if kind not in before:
            raise BadRequest("The address is missing.", do=f"Give the {kind} of this destination.")
        return {"name": name, kind: before[kind]}
    if _VARIABLE.search(address):
        # A user who may change rules must not be able to send the server's environment somewhere.
        raise BadRequest("Environment variables can be used in the file only.", do="Write the address itself.")
    if any(character.isspace() or not character.isprintable() for character in address):
        raise BadRequest("The address contains a space or a control character.")
    if kind == "url":
        from pulseboard.alerts.rules import Destination
        from pulseboard.alerts.sending import check_destination

        check_destination(Destination(name, address, False))
    return {"name": name, kind: address}


def _described(file: RulesFile | None, content: Content | None, problem: str | None) -> dict[str, Any]:
    from pulseboard.diagnose.guide import guide_slugs

    tables: Mapping[str, Any] = {} if content is None else content.tables
    return {
        "file": None if file is None else os.path.basename(file.path),
        "version": "" if content is None else content.version,
        "problem": problem,
        "link": "" if content is None else content.rules.link,
        "destinations": [
            {"name": one.name, "kind": "webhook" if one.is_webhook else "url", "shown": _shown(one, table)}
            for one, table in zip(
                [] if content is None else content.rules.destinations.values(),
                tables.get("destination", []),
                strict=True,
            )
        ],
        "rules": [
            {key: _as_list(table.get(key, default), default) for key, default in _DEFAULTS.items()}
            for table in tables.get("rule", [])
        ],
        "findings": sorted(guide_slugs()),
    }


def _shown(destination: Destination, table: Mapping[str, Any]) -> str:
    """The variable that an address is in; otherwise only its scheme, and the host of a webhook."""
    written = str(table.get("webhook") or table.get("url"))
    if _VARIABLE.fullmatch(written):
        return written
    from urllib.parse import urlsplit

    parts = urlsplit(destination.url)
    return f"{parts.scheme}://{parts.hostname}/…" if destination.is_webhook else f"{parts.scheme}://…"
