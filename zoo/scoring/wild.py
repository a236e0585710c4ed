"""Wild: the diagnosis of published logs that nobody here made, compared with verdicts from their curves.

The logs are not part of the repository but next to it (../shared/wild and ../shared/corpus). Without them this part is
skipped with a message.
"""

from pathlib import Path

from zoo.scoring.collect import Collected, collect, load, save
from zoo.scoring.figures import COLUMNS, Figures, alarm_lines, figures, missed_lines
from zoo.scoring.matching import Case, cases
from zoo.scoring.table import rows_in, table
from zoo.scoring.verdicts import COLLECTIONS, SHARED, all_verdicts


def available() -> bool:
    """Whether the logs are here; prints that they are skipped if not."""
    missing = [str(SHARED / name) for name in COLLECTIONS if not (SHARED / name).is_dir()]
    if missing:
        print(f"Skipped the published logs, which are not part of the repository. Missing: {', '.join(missing)}")
    return not missing


def folders(only: str | None = None) -> dict[str, Path]:
    """The folders by name, collection first; `only` picks those whose name contains it."""
    found = {
        f"{collection}/{path.name}": path
        for collection in COLLECTIONS
        for path in sorted((SHARED / collection).iterdir())
        if path.is_dir()
    }
    return {name: path for name, path in found.items() if not only or only in name}


def diagnosed(directory: Path, *, jobs: int = 2, only: str | None = None) -> Collected:
    """The diagnosis of every folder."""
    return collect(folders(only), directory / "wild", jobs=jobs)


def cases_of(collected: Collected) -> list[Case]:
    """The trainings with their verdicts; verdicts on folders that were not collected are left out."""
    names = {folder.name for folder in collected.folders}
    return cases(collected.runs, [verdict for verdict in all_verdicts() if verdict.folder in names])


def keep(collected: Collected, directory: Path, row: str) -> None:
    """Keep a state under a name: it becomes a row of the table."""
    save(collected, _state(directory, row))


def updated(text: str, directory: Path, row: str) -> str:
    """The table of a document with one more row. Kept states are scored again, with today's verdicts."""
    rows = rows_in(COLUMNS, text)
    rows.setdefault(row, [])
    for name in rows:
        path = _state(directory, name)
        if path.exists():
            rows[name] = figures(cases_of(load(path))).cells()
    return table(COLUMNS, rows)


def summary(found: Figures, collected: Collected) -> str:
    """The figures as a list, with what was left out."""
    lines = [f"{name:<38} {value:<24} {target}" for (name, target), value in zip(COLUMNS, found.cells(), strict=True)]
    lines.append(f"{'alarms on runs without a verdict':<38} {found.unlabeled_alarms}")
    lines.append(f"{'verdicts whose run was not read':<38} {found.unread}")
    lines += [f"no diagnosis of {name}: {error}" for name, error in collected.errors.items()]
    return "\n".join(lines)


def listing(found: list[Case]) -> str:
    """Every alarm, every missed problem, and every verdict without a run."""
    unread = [f"not read  {case.id}" for case in found if not case.runs]
    return "\n".join([*alarm_lines(found), *missed_lines(found), *unread])


def _state(directory: Path, row: str) -> Path:
    safe = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in row)
    return directory / "wild" / "states" / f"{safe}.json"
