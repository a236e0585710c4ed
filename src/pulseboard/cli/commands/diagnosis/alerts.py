"""Send messages when something happens to runs: Slack, Discord, Teams, email, ntfy, webhooks.

The rules are in a file (docs/guides/alerts.md): destinations, and which runs, findings and severities are worth a
message. Any log directory works, without a change to the trainings. One message opens an incident and one closes it,
and nothing is sent twice, not even after a restart. `pulseboard serve --alerts FILE` does the same next to the
dashboard. Everything but webhooks needs: pip install "pulseboard[alerts]".

  pulseboard alerts test --rules alerts.toml            send a test message to every destination
  pulseboard alerts watch runs/ --rules alerts.toml     watch until Ctrl-C
"""

from __future__ import annotations

import argparse
import sys
import threading
from typing import TYPE_CHECKING

from pulseboard.cli import terminal
from pulseboard.core.errors import PulseboardError

if TYPE_CHECKING:
    from pulseboard.alerts.delivery import Delivery
    from pulseboard.alerts.rules_file import RulesFile
    from pulseboard.alerts.watcher import Watcher

_FILE = "alerts.toml"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("test", "watch"), help="what to do")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="log directory, log file, URL, pattern, or name:path")
    parser.add_argument("--rules", default=_FILE, metavar="FILE", help=f"the rules ({_FILE})")


def run(args: argparse.Namespace) -> int:
    return _test(args) if args.action == "test" else _watch(args)


def started(file: RulesFile) -> tuple[Watcher, Delivery]:
    """A watcher with the rules of a file. Raises BadRules, and an error for a destination that can never work."""
    from pulseboard.alerts.delivery import Delivery
    from pulseboard.alerts.memory import Memory
    from pulseboard.alerts.sending import check_destination
    from pulseboard.alerts.watcher import Watcher

    rules = file.read().rules
    for destination in rules.destinations.values():
        check_destination(destination)
    delivery = Delivery(Memory.of_rules(file.path), chart=rules.chart, report=terminal.print_error)
    return Watcher(rules, delivery, file=file), delivery


def _test(args: argparse.Namespace) -> int:
    from pulseboard.alerts.message import test_message
    from pulseboard.alerts.rules import read_rules
    from pulseboard.alerts.sending import send

    rules = read_rules(args.rules)
    message = test_message(rules.link)
    failed = 0
    for destination in rules.destinations.values():
        try:
            send(message, destination, chart=rules.chart)
            print(f"{destination.name}: sent")
        except PulseboardError as error:
            failed += 1
            terminal.print_error(str(error))
    return 1 if failed else 0


def _watch(args: argparse.Namespace) -> int:
    from pulseboard.alerts.rules import read_rules
    from pulseboard.alerts.rules_file import RulesFile
    from pulseboard.alerts.watcher import watch
    from pulseboard.read.discovery.log_directory import log_directories_from
    from pulseboard.read.runs import Runs

    if not args.paths:
        raise PulseboardError("Give the log directory to watch: pulseboard alerts watch runs/ --rules alerts.toml")
    read_rules(args.rules)  # unlike a server, which can make the file, this needs one
    watcher, delivery = started(RulesFile(args.rules))
    runs = Runs(log_directories_from(args.paths, may_be_missing=True))
    runs.refresh()
    print(f"Watching {', '.join(args.paths)}  (Ctrl-C to stop)", file=sys.stderr, flush=True)
    stop = threading.Event()
    try:
        watch(runs, watcher, stop=stop)
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
    finally:
        stop.set()
        delivery.close()
    return 0
