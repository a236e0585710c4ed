"""Build and score the zoo.

python -m zoo build --dir .zoo            train what is missing: 90 minutes on two cores the first time
python -m zoo build --bases foreign       train those of other frameworks: 25 minutes on two cores
python -m zoo score --dir .zoo            score the diagnosis; --misses lists its errors
python -m zoo score --write docs/diagnosis-score.md
python -m zoo earlier --dir .zoo          score it when healthy runs of the same task are known
python -m zoo labels                      score it on real runs that were labeled by hand
python -m zoo wild --list                 score it on published logs, and list every alarm and every missed problem
python -m zoo wild --row NAME --write docs/diagnosis-score.md
python -m zoo wild --views                the same logs with fewer points, more noise, no validation, ...
python -m zoo foreign --dir DIR --list    score it on trainings by other frameworks, below DIR/runs and DIR/truth
python -m zoo small --dir .zoo-small      train small trainings of many kinds and styles, and score half
python -m zoo small --held-out            the totals of the other half, which is never used for tuning
python -m zoo verdicts FILE...            merge verdicts on published logs into zoo/verdicts.tsv
python -m zoo guides --dir .zoo --foreign-dir DIR    count the healthy trainings that break each rule of the guides
python -m zoo causes                      learn the weights of causes, and score them with each base left out
python -m zoo tokens --small-dir DIR      the length of answers about 20 faulty small trainings, and how many are right
python -m zoo peers --dir .zoo            compare with other tools, which are installed in .zoo/.peers
python -m zoo peers --foreign-dir DIR     the same on trainings by other frameworks; --held-out: on held-out bases
python -m zoo peers --small-dir DIR       the same on small trainings; --held-out: on the held-out half
"""

import argparse
from pathlib import Path

from zoo import earlier, labels, peers, tokens
from zoo.build import build
from zoo.foreign.build import build_bases
from zoo.plan import leave_one_base_out, planned_trainings
from zoo.score import Judged, interval, judge, judge_views, misses, score
from zoo.scoring import cause_tables, foreign, guide_rules, small, verdicts, wild, wild_views
from zoo.scoring.figures import figures
from zoo.views import VIEWS

AS_IT_WAS = "as it was"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "what",
        choices=(
            "build",
            "score",
            "earlier",
            "list",
            "labels",
            "wild",
            "verdicts",
            "foreign",
            "small",
            "peers",
            "causes",
            "guides",
            "tokens",
        ),
    )
    parser.add_argument("files", nargs="*", type=Path, help="files of verdicts to merge")
    parser.add_argument("--dir", type=Path, default=Path(".zoo"), help="where the trainings are (.zoo)")
    parser.add_argument(
        "--foreign-dir", type=Path, help="where the foreign trainings are; `causes` looks in .zoo-foreign without it"
    )
    parser.add_argument("--jobs", type=int, default=2, help="parallel trainings (2)")
    parser.add_argument(
        "--bases", choices=("own", "foreign"), default="own", help="build trainers/ or zoo/bases/ (own)"
    )
    parser.add_argument("--only", help="only names that contain this")
    parser.add_argument("--tuning", action="store_true", help="only trainings used for tuning")
    parser.add_argument("--aside", action="store_true", help="only held-out trainings")
    parser.add_argument("--misses", action="store_true", help="list wrong diagnoses of the tuning part")
    parser.add_argument("--list", action="store_true", help="list every alarm and every missed problem")
    parser.add_argument("--views", action="store_true", help="published logs as others might have logged them")
    parser.add_argument(
        "--held-out", action="store_true", help="the foreign bases that are held out from tuning, not the others"
    )
    parser.add_argument(
        "--small-dir", type=Path, help="where the small trainings are; `causes` looks in .zoo-small without it"
    )
    parser.add_argument("--row", help="keep this state of the diagnosis under a name, as a row of the table")
    parser.add_argument("--write", type=Path, help="write the table to this document")
    args = parser.parse_args()
    if args.what == "build" and args.bases == "foreign":
        failed_names = build_bases(args.dir, jobs=args.jobs, only=args.only or "")
        print(
            "\n".join([f"{name} failed" for name in failed_names] or ["Every training of the foreign bases is built."])
        )
        raise SystemExit(1 if failed_names else 0)
    chosen = [one for one in planned_trainings() if not args.only or args.only in one.name]
    if args.tuning or args.aside:
        chosen = [one for one in chosen if one.held_out == args.aside]
    if args.what == "list":
        for one in chosen:
            print(one.name, "held out" if one.held_out else "")
        return
    if args.what == "build":
        failed = build(chosen, args.dir, jobs=args.jobs)
        print(f"{len(chosen) - len(failed)} of {len(chosen)} trainings are built.")
        raise SystemExit(1 if failed else 0)
    if args.what == "causes":
        foreign_dir = args.foreign_dir or Path(".zoo-foreign")
        show(cause_tables.learn_and_write(args.dir, foreign_dir, args.small_dir or Path(".zoo-small")), args)
        return
    if args.what == "guides":
        counts = guide_rules.measure(args.dir, args.foreign_dir or Path(".zoo-foreign"))
        guide_rules.TARGET.write_text(guide_rules.as_toml(counts), encoding="utf-8")
        show(guide_rules.table(counts), args)
        return
    if args.what == "wild":
        score_wild(args)
        return
    if args.what == "foreign":
        score_foreign(args)
        return
    if args.what == "tokens":
        show(tokens.measured(args.small_dir or Path(".zoo-small")), args, mark="tokens")
        return
    if args.what == "small":
        score_small(args)
        return
    if args.what == "verdicts":
        print("\n".join(verdicts.merge(args.files)) or "No disagreements.")
        return
    if args.what == "labels":
        if not labels.available():
            return
        runs = labels.labeled_runs()
        if args.misses:
            print("\n".join(labels.wrong_diagnoses(runs)))
        show(labels.table(runs), args)
        return
    if args.what == "earlier":
        show(earlier.table(chosen, args.dir), args)
        return
    if args.what == "peers" and args.foreign_dir is not None:
        text = peers.compare_foreign(args.foreign_dir, held_out=args.held_out, jobs=args.jobs)
        show(text, args, mark="peers-held-out" if args.held_out else "peers-foreign")
        return
    if args.what == "peers" and args.small_dir is not None:
        show(peers.compare_small(args.small_dir, held_out=args.held_out, jobs=args.jobs), args, mark="peers-small")
        return
    if args.what == "peers":
        show(peers.compare(chosen, args.dir, jobs=args.jobs), args)
        return
    judged = judge(chosen, args.dir)
    if args.misses:
        print("\n".join(misses(one for one in judged if not one.training.held_out)))
    by_view = {AS_IT_WAS: judged, **judge_views(chosen, args.dir, VIEWS, jobs=args.jobs)}
    show("\n\n".join([table(judged), views_table(by_view), bases_table(by_view)]), args, mark="zoo")


def score_wild(args: argparse.Namespace) -> None:
    """Score the diagnosis of published logs."""
    if not wild.available():
        return
    collected = wild.diagnosed(args.dir, jobs=args.jobs, only=args.only)
    cases = wild.cases_of(collected)
    if args.views:
        results = wild_views.seen(cases, wild.folders(args.only), jobs=args.jobs)
        text = wild_views.summary(cases, results, details=args.list)
        print(text)
        if args.write:
            write(args.write, text, mark="wild-views")
        return
    if args.list:
        print(wild.listing(cases))
    print(wild.summary(figures(cases), collected))
    if args.only and (args.row or args.write):
        raise SystemExit("A row of the table is about all folders. Leave out --only.")
    row = args.row or ("now" if args.write else "")
    if row:
        wild.keep(collected, args.dir, row)
    if args.write:
        write(args.write, wild.updated(between(args.write, mark="wild"), args.dir, row), mark="wild")


def score_foreign(args: argparse.Namespace) -> None:
    """Score the diagnosis of trainings by other frameworks."""
    chosen = foreign.truths(args.dir, only=args.only, held_out=args.held_out)
    if not chosen:
        raise SystemExit(f"No such trainings with a truth file. Looked for *.json in {args.dir / 'truth'}")
    pairs = foreign.diagnosed(args.dir, chosen, cache=Path(".zoo") / "foreign", jobs=args.jobs)
    if args.list:
        print(foreign.listing(pairs))
    print(foreign.by_base(pairs))
    if args.write:
        row = f"{args.row or 'now'}{', held out' if args.held_out else ''}"
        write(args.write, foreign.updated(between(args.write, mark="foreign"), row, pairs), mark="foreign")


def score_small(args: argparse.Namespace) -> None:
    """Train small trainings and score the diagnosis on one half of them; of the held-out half, show totals only."""
    from zoo.small.build import build as build_small

    directory = Path(".zoo-small") if args.dir == Path(".zoo") else args.dir
    failed = build_small(directory, jobs=args.jobs, only=args.only or "")
    print("\n".join(f"failed: {line}" for line in failed))
    chosen = foreign.truths(directory, only=args.only, held_out=args.held_out)
    pairs = foreign.diagnosed(directory, chosen, cache=Path(".zoo") / "small", jobs=args.jobs)
    if not args.held_out:
        print(foreign.listing(pairs) if args.list else small.details(pairs))
    print(small.totals(pairs, directory))
    if args.write:
        row = f"{args.row or 'now'}{', held out' if args.held_out else ''}"
        write(args.write, foreign.updated(between(args.write, mark="small"), row, pairs), mark="small")


def show(text: str, args: argparse.Namespace, *, mark: str | None = None) -> None:
    """Print a table, and write it to the document if one was given."""
    print(text)
    if args.write:
        write(args.write, text, mark=mark or args.what)


def table(judged: list) -> str:
    """The scores in Markdown, of the tuning part and of the held-out part."""
    tuned = score(one for one in judged if not one.training.held_out).rows()
    held_out = score(one for one in judged if one.training.held_out).rows()
    lines = ["| | tuned on | held out | target |", "| --- | --- | --- | --- |"]
    lines += [f"| {a[0]} | {a[1]} | {b[1]} | {a[2]} |" for a, b in zip(tuned, held_out, strict=True)]
    faulty = [one for one in judged if one.training.held_out and not one.healthy]
    if faulty:
        low, high = interval(faulty)
        lines.append(f"\nHeld-out faults found, resampling faults 500 times: 90 % between {low:.3f} and {high:.3f}.")
    return "\n".join(lines)


def views_table(by_view: dict[str, list[Judged]]) -> str:
    """The same trainings, logged differently."""
    lines = ["| logged as | faults found | precision | healthy flagged | right cause first | of all faults |"]
    lines.append("| --- | --- | --- | --- | --- | --- |")
    lines += [f"| {name} | " + " | ".join(_short(judged)) + " |" for name, judged in by_view.items()]
    return "\n".join(lines)


def bases_table(by_view: dict[str, list[Judged]]) -> str:
    """Each base by itself."""
    lines = ["| base | logged as | faults found | precision | healthy flagged | right cause first | of all faults |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- |")
    for view in (AS_IT_WAS, "ordinary metrics only"):
        for base, _, group in leave_one_base_out(by_view[view], base_of=lambda one: one.training.base):
            lines.append(f"| {base} | {view} | " + " | ".join(_short(group)) + " |")
    return "\n".join(lines)


def _short(judged: list[Judged]) -> list[str]:
    rows = {metric: value for metric, value, _ in score(judged).rows()}
    return [
        rows["faults found by an accepted finding"],
        rows["precision of warnings and critical findings"],
        rows["healthy runs and decoys flagged"],
        rows["correct cause first"],
        rows["correct cause first, of all faults"],
    ]


def write(path: Path, text: str, *, mark: str) -> None:
    """Write the table between the marks of a document."""
    head, _, tail = _split(path, mark)
    path.write_text(f"{head}<!-- {mark} -->\n{text}\n<!-- /{mark} -->{tail}", encoding="utf-8")


def between(path: Path, *, mark: str) -> str:
    """What is between the marks of a document."""
    return _split(path, mark)[1]


def _split(path: Path, mark: str) -> tuple[str, str, str]:
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    text = path.read_text(encoding="utf-8")
    if begin not in text or end not in text:
        raise SystemExit(f"The marks {begin} and {end} for the table are missing. Add both to {path}")
    head, _, rest = text.partition(begin)
    inside, _, tail = rest.partition(end)
    return head, inside, tail


if __name__ == "__main__":
    main()
