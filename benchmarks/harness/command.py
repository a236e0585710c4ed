"""The command line that all benchmarks share: options, exit codes, and the report on the terminal and in a file.

The exit code is 0 when everything was measured, 1 when a measured program fails or readers disagree (the other parts
are measured all the same), 2 when something the benchmark cannot do without is missing, and 130 when it is interrupted.
A missed target is reported and is not an error: it may be the machine.
"""

from __future__ import annotations

import argparse
import compileall
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.harness import setting
from benchmarks.harness.kept import KeptParts
from benchmarks.harness.paths import BENCH, LOGS, QUICK_LOGS, REPOSITORY, WORK
from benchmarks.harness.report import Part, checks_table, verdict, write_section
from benchmarks.harness.sampling import Quiet, ToolFailed, WrongResult


class Missing(Exception):
    """Something the benchmark cannot do without is not installed; the message says how to install it."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One subject: `python -m benchmarks.NAME` runs it and rewrites section NAME of the report."""

    name: str
    title: str
    packages: tuple[str, ...]  # whose versions the report names
    description: str | None  # for --help
    measure: Callable[[argparse.Namespace, Quiet], list[Part]]
    # Adds options of its own; `--repeat`, `--quick` and the others are there already.
    add_options: Callable[[argparse.ArgumentParser], None] = lambda parser: None
    versions: Callable[[], str] = lambda: ""  # of what is not a Python package
    repeat: int = 5

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Measure, print the report, and write it where asked."""
        parser = self._parser()
        options = parser.parse_args(arguments)
        for directory in (LOGS, QUICK_LOGS, WORK):
            directory.mkdir(parents=True, exist_ok=True)
        quiet = Quiet(
            wait_secs=0.0 if options.quick else options.quiet_wait,
            level=options.quiet_level,
            budget_secs=options.quiet_budget,
        )
        # As pip does; otherwise every process would compile if Python is set not to keep bytecode.
        for folder in ("src", "benchmarks"):
            compileall.compile_dir(REPOSITORY / folder, quiet=2)
        measured, kept = setting.commit(), self._kept(options)
        quiet.others += kept.others
        interrupt_when_ended()
        options.kept, options.quiet = kept, quiet
        code = 0
        try:
            parts = self.measure(options, quiet)
        except Missing as error:
            self.log(str(error))
            return 2
        except KeyboardInterrupt:
            self.log("interrupted; --resume measures the rest")
            parts, code = list(kept.parts.values()), 130
        except (ToolFailed, WrongResult) as error:
            self.log(str(error))
            return 1
        if setting.commit() != measured:
            measured = f"{measured}, which became {setting.commit()} while this ran"
        report = self._report(parts, quiet, measured=measured, command=self._command(parser, options), options=options)
        print(report)
        if options.write and not options.only:
            write_section(options.write, name=self.name, body=report)
        return code or (1 if kept.unmeasured else 0)

    def _kept(self, options: argparse.Namespace) -> KeptParts:
        changeable = {name: value for name, value in vars(options).items() if name not in ("write", "resume")}
        file = BENCH / (f"{self.name}_quick.json" if options.quick else f"{self.name}.json")
        if options.only:
            file = WORK / file.name  # a part alone never replaces what was measured of all of them
        of = {"commit": setting.commit(), "changes": setting.changes(), **changeable}
        return KeptParts(file, of=of, resume=options.resume)

    def log(self, line: str) -> None:
        """Print progress or a complaint; the report alone goes to standard output."""
        print(f"benchmarks.{self.name}: {line}", file=sys.stderr, flush=True)

    def _parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(
            prog=f"python -m benchmarks.{self.name}",
            description=self.description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        add = parser.add_argument
        add("--write", metavar="FILE", help="rewrite this benchmark's section of a Markdown file")
        add("--quick", action="store_true", help="a smoke test on small inputs; its figures mean nothing")
        add("--only", metavar="WORD", help="measure only parts with this word in their names, and write nothing")
        add("--resume", action="store_true", help="keep the parts that an interrupted run of this commit measured")
        add("--repeat", type=int, default=self.repeat, metavar="N", help="samples of each figure (%(default)s)")
        add("--quiet-wait", type=float, default=5, metavar="SECS", help="wait this long for a quiet moment")
        add("--quiet-budget", type=float, default=30, metavar="SECS", help="for all of these waits together")
        add("--quiet-level", type=float, default=0.15, metavar="CORES", help="what other processes may use then")
        self.add_options(parser)
        return parser

    def _command(self, parser: argparse.ArgumentParser, options: argparse.Namespace) -> str:
        """The command as given, without paths outside the repository."""
        defaults = vars(parser.parse_args([]))
        words = [f"python -m benchmarks.{self.name}"]
        for name, value in vars(options).items():
            if name in defaults and name not in ("write", "resume") and value != defaults[name]:
                words.append(f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}"))
        return " ".join([*words, *([f"--write {setting.shown_path(options.write)}"] if options.write else [])])

    def _report(
        self, parts: list[Part], quiet: Quiet, *, measured: str, command: str, options: argparse.Namespace
    ) -> str:
        checks = [check for part in parts for check in part.checks]
        if options.quick:
            checks = [check.without_target() for check in checks]
        versions = ", ".join(filter(None, (setting.versions(*self.packages), self.versions())))
        blocks = [
            f"## {self.title}",
            *(["**A smoke test on small inputs: these figures mean nothing.**"] if options.quick else []),
            f"Measured {setting.today()} on {setting.machine()}; {quiet.summary()}.\n"
            f"Pulseboard at {measured}; {versions}.\n"
            f"Command: `{command}`",
            *["\n".join(f"- **Not measured:** {name}: {why}" for name, why in options.kept.unmeasured.items())],
        ]
        if checks:
            blocks += ["### Targets", verdict(checks), checks_table(checks)]
        for part in parts:
            blocks += [f"### {part.title}" if part.title else "", part.text]
        return "\n\n".join(filter(None, blocks))


def interrupt_when_ended() -> None:
    """Make SIGTERM what Ctrl-C is, so that a run that is ended leaves what it has measured.

    Both are set: a shell starts what is in the background with SIGINT ignored, and so would be all that this starts.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)


def measure_selected(
    benchmark: Benchmark, parts: dict[str, Callable[[], Part]], options: argparse.Namespace
) -> list[Part]:
    """Measure the parts that --only picks, or all of them, but those that are kept from an interrupted run.

    A part that fails does not keep the others from being measured.
    """
    kept: KeptParts = options.kept
    selected = [name for name in parts if options.only is None or options.only.lower() in name.lower()]
    kept.unmeasured = {name: "interrupted" for name in selected if name not in kept.parts}
    for name in list(kept.unmeasured):
        benchmark.log(name)
        try:
            part = parts[name]()
        except Missing:
            raise
        except Exception as error:
            if not isinstance(error, ToolFailed | WrongResult):
                traceback.print_exc()
            benchmark.log(f"{name}: {type(error).__name__}: {error}")
            kept.unmeasured[name] = " ".join(str(error).split())[:300]
        else:
            del kept.unmeasured[name]
            kept.keep(name, part, options.quiet.others)
    return [kept.parts[name] for name in selected if name in kept.parts]
