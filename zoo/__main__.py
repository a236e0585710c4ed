"""Build and score the zoo.

python -m zoo build --dir .zoo            train what is missing: an hour and a half on two cores, then nothing
python -m zoo score --dir .zoo            what diagnosis says of it; --misses lists what it gets wrong
python -m zoo score --write docs/diagnosis-score.md
python -m zoo earlier --dir .zoo          what it says beside healthy runs of the same task
python -m zoo labels                      what diagnosis says of real runs that somebody has labelled
python -m zoo peers --dir .zoo            what other tools say of all these runs; installs them below .zoo/.peers
"""

import argparse
from pathlib import Path

from zoo import earlier, labels, peers
from zoo.build import build
from zoo.plan import Specimen, specimens
from zoo.score import interval, judge, misses, score
from zoo.views import VIEWS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("build", "score", "earlier", "list", "labels", "peers"))
    parser.add_argument("--dir", type=Path, default=Path(".zoo"), help="where the trainings are kept (.zoo)")
    parser.add_argument("--jobs", type=int, default=2, help="trainings at a time (2)")
    parser.add_argument("--only", help="names that contain this")
    parser.add_argument("--tuning", action="store_true", help="only what is not kept aside")
    parser.add_argument("--aside", action="store_true", help="only what is kept aside")
    parser.add_argument("--misses", action="store_true", help="list what is judged wrong, of the tuning part only")
    parser.add_argument("--write", type=Path, help="put the table into this document")
    args = parser.parse_args()
    chosen = [one for one in specimens() if not args.only or args.only in one.name]
    if args.tuning or args.aside:
        chosen = [one for one in chosen if one.aside == args.aside]
    if args.what == "list":
        for one in chosen:
            print(one.name, "aside" if one.aside else "")
        return
    if args.what == "build":
        failed = build(chosen, args.dir, jobs=args.jobs)
        print(f"{len(chosen) - len(failed)} of {len(chosen)} trainings are there.")
        raise SystemExit(1 if failed else 0)
    if args.what == "labels":
        runs = labels.labelled_runs()
        if args.misses:
            print("\n".join(labels.wrong(runs)))
        show(labels.table(runs), args)
        return
    if args.what == "earlier":
        show(earlier.table(chosen, args.dir), args)
        return
    if args.what == "peers":
        show(peers.compare(chosen, args.dir, jobs=args.jobs), args)
        return
    judged = judge(chosen, args.dir)
    if args.misses:
        print("\n".join(misses(one for one in judged if not one.specimen.aside)))
    show(f"{table(judged)}\n\n{views_table(chosen, args.dir)}", args, mark="zoo")


def show(text: str, args: argparse.Namespace, *, mark: str | None = None) -> None:
    """Print a table, and put it into the document where one was named."""
    print(text)
    if args.write:
        write(args.write, text, mark=mark or args.what)


def table(judged: list) -> str:
    """The figures as Markdown: what was tuned on, and what was kept aside."""
    tuned = score(one for one in judged if not one.specimen.aside).rows()
    aside = score(one for one in judged if one.specimen.aside).rows()
    lines = ["| | tuned on | kept aside | owed |", "| --- | --- | --- | --- |"]
    lines += [f"| {a[0]} | {a[1]} | {b[1]} | {a[2]} |" for a, b in zip(tuned, aside, strict=True)]
    kept = [one for one in judged if one.specimen.aside and not one.healthy]
    if kept:
        low, high = interval(kept)
        lines.append(
            f"\nFaults found, kept aside, drawing faults anew 500 times: 90 % between {low:.3f} and {high:.3f}."
        )
    return "\n".join(lines)


def views_table(chosen: list[Specimen], directory: Path) -> str:
    """The same trainings as others would have logged them."""
    lines = ["| logged as | faults found | precision | healthy flagged | right cause first |"]
    lines.append("| --- | --- | --- | --- | --- |")
    for name, view in {"it was": None, **VIEWS}.items():
        found, precision, flagged, _, first, *_ = score(judge(chosen, directory, view=view)).rows()
        lines.append(f"| {name} | {found[1]} | {precision[1]} | {flagged[1]} | {first[1]} |")
    return "\n".join(lines)


def write(path: Path, text: str, *, mark: str) -> None:
    """Put the table between the marks of a document."""
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    before = path.read_text(encoding="utf-8")
    if begin not in before or end not in before:
        raise SystemExit(f"There is no {begin} … {end} to put the table between. Add both marks to {path}")
    head, _, rest = before.partition(begin)
    _, _, tail = rest.partition(end)
    path.write_text(f"{head}{begin}\n{text}\n{end}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
