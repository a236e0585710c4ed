"""The watcher: turns diagnoses and silence into messages, one per incident and one when it is over."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from pulseboard.alerts.delivery import Delivery
from pulseboard.alerts.message import Curve, Event, Message, link_to
from pulseboard.alerts.rules import BadRules, Rule, Rules
from pulseboard.alerts.rules_file import RulesFile
from pulseboard.core.finding import SEVERITIES, Finding, Incident, RunReport
from pulseboard.diagnose.alerts import Alert
from pulseboard.diagnose.cases import Training, trainings
from pulseboard.diagnose.diagnosis import report_on_training
from pulseboard.diagnose.judge.incidents import MACHINE
from pulseboard.diagnose.report.sentences import verdict
from pulseboard.diagnose.report.text import title_of
from pulseboard.read.config.sources import run_file_of
from pulseboard.read.runs import Runs

# What is wrong with a run that was silent for this long when it was first seen is old news.
_OLD_SECS = 600.0
_TICK_SECS = 1.0


class Watcher:
    """Decides what to send about runs. `take` gets every new diagnosis; `tick` is called now and then."""

    def __init__(
        self,
        rules: Rules,
        delivery: Delivery,
        *,
        file: RulesFile | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`file` may change while it is watched; the rules follow."""
        self._rules, self._delivery, self._file, self._clock = rules, delivery, file, clock
        self._seen: dict[str, tuple[Training, RunReport]] = {}
        self._old: set[str] = set()  # runs whose state at the start is not news
        self._lock = threading.RLock()

    def take(self, training: Training, report: RunReport) -> None:
        """A new diagnosis of a training."""
        with self._lock:
            self._follow_file()
            first = report.path not in self._seen
            self._seen[report.path] = training, report
            if first and self._clock() - _last_written(training) > _OLD_SECS:
                self._old.add(report.path)
            elif not first:
                self._old.discard(report.path)
            kinds = {report.findings[one.findings[0]].slug in MACHINE: one for one in report.incidents}
            for name, rules in self._rules_by_destination(report):
                for machine in (False, True):
                    key = f"{report.path}|{report.run}|{'machine' if machine else 'model'}|{name}"
                    self._incident(name, rules, key, kinds.get(machine), report)
            self._silence(training, report)

    def tick(self) -> None:
        """Follow the file of rules, and look for runs that have stalled or ended."""
        with self._lock:
            self._follow_file()
            for training, report in list(self._seen.values()):
                self._silence(training, report)

    def _follow_file(self) -> None:
        try:
            changed = self._file.take_change() if self._file is not None else None
        except BadRules as error:
            self._delivery.report(f"{error} The previous rules stay in use.")
            return
        if changed is not None:
            self._rules = changed
            self._delivery.chart = changed.chart

    def _rules_by_destination(self, report: RunReport) -> Iterator[tuple[str, list[Rule]]]:
        """The rules that a run is subject to, for each destination that has some."""
        for name in self._rules.destinations:
            if rules := [rule for rule in self._rules.rules if name in rule.to and rule.runs.search(report.run)]:
                yield name, rules

    # ---- incidents

    def _incident(self, name: str, rules: list[Rule], key: str, incident: Incident | None, report: RunReport) -> None:
        last = self._delivery.last(key)
        rule = None
        if incident is not None:
            slugs = [report.findings[i].slug for i in incident.findings]
            rule = next((one for one in rules if one.wants(incident.severity, slugs)), None)
        if incident is not None and rule is not None:
            event = _event(incident, last)
            if event is None:
                return
            of = last["id"] if last and event != "opened" else incident.id
            entry = {"id": of, "event": event, "severity": incident.severity, "headline": incident.headline}
            lead = report.findings[incident.findings[0]]
            self._put(key, name, rule, _about(event, of, incident, lead, report, self._rules), entry)
        elif last is not None and last["event"] in ("opened", "worse"):
            # Later points have shown that it was nothing, or that it is over.
            text = f"Not seen any more: {last['headline']}."
            over = self._plain("closed", last["id"], report, "ok", last["headline"], text)
            self._put(key, name, rules[0], over, {**last, "event": "closed"})

    # ---- silence

    def _silence(self, training: Training, report: RunReport) -> None:
        stated = run_file_of(training.parts[0][1])
        silent = self._clock() - max(_last_written(training), stated.heartbeat or 0.0)
        has_ended = stated.status not in (None, "running")
        for name, rules in self._rules_by_destination(report):
            key = f"{report.path}|{report.run}|{{}}|{name}"
            patient = [rule for rule in rules if rule.stalled_secs is not None]
            if patient and not has_ended:
                first = min(patient, key=lambda rule: rule.stalled_secs or 0.0)
                self._stalled(first, key.format("stalled"), name, silent, report)
            if has_ended and (rule := next((one for one in rules if one.ended), None)):
                self._ended(rule, key.format("ended"), name, str(stated.status), stated.ended, report)

    def _stalled(self, rule: Rule, key: str, name: str, silent: float, report: RunReport) -> None:
        assert rule.stalled_secs is not None
        last = self._delivery.last(key)
        is_known = last is not None and last["event"] == "stalled"
        step = 0 if report.steps is None else report.steps[1]
        if silent > rule.stalled_secs and not is_known:
            headline = f"Nothing was logged for {silent:.0f} s, since step {step:,}"
            message = self._plain("stalled", f"stalled:{step}", report, "warning", headline, verdict(report))
            self._put(key, name, rule, message, {"event": "stalled", "id": f"stalled:{step}"})
        elif silent <= rule.stalled_secs and is_known and last is not None:
            headline = f"It is logging again, now at step {step:,}"
            message = self._plain("resumed", last["id"], report, "ok", headline, "")
            self._put(key, name, rule, message, {"event": "resumed", "id": last["id"]})

    def _ended(self, rule: Rule, key: str, name: str, status: str, at: float | None, report: RunReport) -> None:
        last = self._delivery.last(key)
        if last is not None and last["at"] == at:
            return
        step = "" if report.steps is None else f" at step {report.steps[1]:,}"
        severity = "ok" if status == "finished" and report.status in ("ok", "info") else "warning"
        message = self._plain("ended", f"ended:{at}", report, severity, f"The run {status}{step}", verdict(report))
        self._put(key, name, rule, message, {"event": "ended", "id": f"ended:{at}", "at": at})

    # ---- messages

    def _plain(self, event: Event, of: str, report: RunReport, severity: str, headline: str, text: str) -> Message:
        return Message(event, of, title_of(report), severity, headline, text, link_to(self._rules.link, report.run))

    def _put(self, key: str, name: str, rule: Rule, message: Message, entry: dict[str, Any]) -> None:
        if key.partition("|")[0] in self._old:
            self._delivery.know(key, entry)
            return
        now = self._clock()
        due = now if rule.quiet is None else rule.quiet.ends_at(now) or now
        self._delivery.put(key, message, self._rules.destinations[name], entry, due=due)


def watch(runs: Runs, watcher: Watcher, *, stop: threading.Event) -> None:
    """Follow runs and give the watcher their diagnoses, until `stop` is set."""
    ticking = threading.Thread(target=keep_ticking, args=(watcher, stop), name="pulseboard-alerts-tick", daemon=True)
    ticking.start()
    _diagnose(runs, watcher, set(runs))
    for changes in runs.follow(every_secs=2.0, stop=stop):
        _diagnose(runs, watcher, {*changes.added, *changes.grown})
    ticking.join()


def keep_ticking(watcher: Watcher, stop: threading.Event) -> None:
    """Let the watcher look for silence and other rules every second, until `stop` is set."""
    while not stop.wait(_TICK_SECS):
        watcher.tick()


def _diagnose(runs: Runs, watcher: Watcher, names: set[str]) -> None:
    for training in trainings(runs):
        if any(run.name in names for _, run in training.parts):
            watcher.take(training, report_on_training(training))


def _last_written(training: Training) -> float:
    return max(run.last_written for _, run in training.parts)


def _event(incident: Incident, last: dict[str, Any] | None) -> Event | None:
    """What there is to say about an incident, given what was last said about it; None if nothing."""
    if last is None or (last["event"] == "closed" and incident.open and last["id"] != incident.id):
        return "opened"
    if SEVERITIES.index(incident.severity) > SEVERITIES.index(last["severity"]):
        return "worse"
    return "closed" if not incident.open and last["event"] != "closed" else None


def _about(event: Event, of: str, incident: Incident, lead: Finding, report: RunReport, rules: Rules) -> Message:
    alert = Alert("closed" if event == "closed" else "opened", of, incident, lead)
    steps, values = report.curves.get(lead.metric, ([], []))
    return Message(
        event,
        of,
        title_of(report),
        incident.severity,
        f"{incident.headline} ({lead.slug})",
        alert.sentences,
        link_to(rules.link, report.run),
        Curve(lead.metric, steps, values, incident.first_step) if steps else None,
        incident.to_dict(),
    )
