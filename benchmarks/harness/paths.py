"""Where the benchmarks keep their files: all of it is below .bench/, which git ignores."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BENCH = REPOSITORY / ".bench"
# Log sets, by size: those of a smoke test never stand in for the full ones.
LOGS, QUICK_LOGS = BENCH / "logs", BENCH / "quick_logs"
# Files that one measurement writes and removes.
WORK = BENCH / "work"
