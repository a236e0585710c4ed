"""Files that are not what they seem: no reader raises an error, hangs, or uses unbounded memory."""

import os
import random
import resource
import textwrap
import time

import pytest
from other_formats import only_run, points, runs_of_other_formats, written

from pulseboard.core.errors import LogNotFound, PulseboardError, TagNotFound
from pulseboard.read import any_runs
from pulseboard.read import format as format_module
from pulseboard.read.format import Candidate, all_readers, reader, reader_for
from pulseboard.read.parsing import text as text_module
from pulseboard.read.parsing.series_builder import SeriesBuilder

HELPERS = {"lines_of": text_module.lines_of, "SeriesBuilder": SeriesBuilder}

NAMES = [
    "log.csv",
    "metrics.csv",
    "log.jsonl",
    "metrics.json",
    "training.json",
    "trainer_state.json",
    "run-a.wandb",
    "mlflow.db",
    "train.log",
    "train.txt",
    "mlruns/0/a/metrics/loss",
]
GARBAGE = {
    "nothing": b"",
    "a byte": b"\0",
    "zeros": bytes(10_000),
    "random": random.Random(0).randbytes(100_000),
    "binary with a wandb head": b":W&B\xe1\xbe\0" + random.Random(1).randbytes(100_000),
    "binary with a database head": b"SQLite format 3\0run_uuid" + random.Random(2).randbytes(100_000),
    "gzip": b"\x1f\x8b\x08" + random.Random(3).randbytes(5000),
    "only line breaks": b"\n\r\n\r" * 5000,
    "only commas": b"," * 100_000 + b"\n" + b"," * 100_000,
    "an open quote": b'step,loss\n0,1\n1,"' + b"x\n" * 40_000,
    "a long open quote": b'step,loss\n0,1\n1,"' + b"x\n" * 200_000,
    "open brackets": b"[" * 200_000,
    "open braces": b'{"log":' * 50_000,
    "a huge number": b'{"step": 1, "loss": ' + b"9" * 10_000 + b'}\n{"step": 2, "loss": 1}\n',
    "a history of nothing": b'{"log_history": {"a": 1}}',
    "surrogates": b'{"step": 1, "loss \\ud800": 1}\n{"step": 2, "loss \\ud800": 1}\n',
    "a step too large": b"step,loss\n1e30,1\n99999999999999999999,2\n-1e300,3\n",
    "a lone mark": b"\xef\xbb\xbf",
    "half of UTF-16": b"\xff\xfes\0t\0e\0p",
    "NUL in the middle": b"step,loss\n0,1\n" + bytes(4096) + b"\n1,2\n",
}


@pytest.mark.parametrize(
    "what", [pytest.param(what, marks=[pytest.mark.long] if what == "a long open quote" else []) for what in GARBAGE]
)
@pytest.mark.parametrize("name", NAMES)
def test_garbage_is_read_quickly_and_without_an_error(tmp_path, name, what):
    path = written(tmp_path / name, GARBAGE[what])
    began = time.process_time()
    found = [*runs_of_other_formats(path).values(), *runs_of_other_formats(tmp_path).values()]
    for run in found:
        for tag in run.tags():
            assert len(run.series(tag).steps) == len(run.series(tag).values)
        assert run.hparams() is None or run.config()
        assert all(str(note) for note in run.notes())
    assert time.process_time() - began < 10


@pytest.mark.parametrize("name", ["log.csv", "log.jsonl", "train.log"])
def test_a_line_that_would_take_too_much_memory_is_left_out_and_the_others_are_read(tmp_path, monkeypatch, name):
    monkeypatch.setattr(text_module, "MAX_LINE_CHARS", 3 << 20)
    lines = {"log.csv": "{},{}.5", "log.jsonl": '{{"step": {}, "loss": {}.5}}', "train.log": "step {}: loss {}.5"}[name]
    path = tmp_path / name
    with path.open("w") as stream:
        if name == "log.csv":
            stream.write("step,loss\n")
        stream.write(lines.format(0, 2) + "\n" + lines.format(1, 2) + "\n")
        for _ in range(30):
            stream.write("x" * (1 << 20))
        stream.write("\n" + lines.format(2, 1) + "\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run = only_run(path)
    assert points(run, "loss") == [(0, 2.5), (1, 2.5), (2, 1.5)]
    assert any("Left out 1 line" in note.what for note in run.notes())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB; the line alone has 30 000


def test_lines_are_the_same_whatever_the_size_of_the_chunks(tmp_path, monkeypatch):
    whole = "a\r\nbé漢\n\rc\r\r\nd\n" * 3 + "end"
    path = written(tmp_path / "x", whole)
    expected = [line.text for line in text_module.lines_of(str(path))]
    assert expected[:6] == ["a", "bé漢", "", "c", "", "d"]
    for size in range(1, 12):
        monkeypatch.setattr(text_module, "_CHUNK_BYTES", size)
        # The encoding is taken from the first chunk, which is never this small.
        monkeypatch.setattr(text_module, "encoding_of", lambda head: "utf-8")
        found = list(text_module.lines_of(str(path)))
        assert [line.text for line in found] == expected
        assert [line.complete for line in found] == [True] * (len(found) - 1) + [False]


def test_pipes_devices_and_dead_links_are_skipped(tmp_path):
    os.mkfifo(tmp_path / "train.log")
    os.mkfifo(tmp_path / "log.csv")
    os.mkfifo(tmp_path / "training.json")
    os.symlink(tmp_path / "nowhere", tmp_path / "metrics.csv")
    os.symlink("/dev/zero", tmp_path / "log.jsonl")
    assert runs_of_other_formats(tmp_path) == {}


def test_a_directory_that_links_to_itself_does_not_recurse(tmp_path):
    written(tmp_path / "a" / "log.csv", "step,loss\n0,1\n")
    os.symlink(tmp_path, tmp_path / "a" / "again")
    assert list(runs_of_other_formats(tmp_path)) == ["a/log.csv"]


def test_a_name_that_is_not_text_is_shown_escaped(tmp_path):
    with open(os.fsencode(tmp_path) + b"/caf\xe9.csv", "wb") as stream:
        stream.write(b"step,loss\n0,1\n")
    (name,) = runs_of_other_formats(tmp_path)
    assert name == r"caf\xe9.csv"


def test_a_file_of_no_known_format_raises_an_error_that_names_it(tmp_path):
    path = written(tmp_path / "picture.bin", GARBAGE["random"])
    with pytest.raises(LogNotFound, match="not an event file, nor in any other supported format") as caught:
        any_runs(path)
    assert str(path) in str(caught.value)
    with pytest.raises(LogNotFound, match="no such file"):
        runs_of_other_formats(tmp_path / "nowhere")
    with pytest.raises(LogNotFound, match="no path was given"):
        any_runs()


def test_a_missing_tag_or_rank_raises_an_error_with_the_nearest_names(tmp_path):
    run = only_run(written(tmp_path / "log.csv", "step,train_loss\n0,1\n"))
    with pytest.raises(PulseboardError, match="Nearest: 'train_loss'"):
        run.series("train_los")
    with pytest.raises(PulseboardError, match="rank 1"):
        run.series("train_loss", rank=1)
    with pytest.raises(PulseboardError, match="no histogram tag"):
        run.values("weights", kind="histogram")
    for values_of in (run.histograms, run.texts, run.images, run.audio):
        with pytest.raises(TagNotFound):
            values_of("weights")
    assert (run.restarts(), run.ranks, run.tags("histogram"), run.kinds()) == ([], {0: run}, [], ["scalar"])
    (stats,) = run.stats()
    assert (stats.tag, stats.count, stats.last, stats.max_step) == ("train_loss", 1, 1.0, 0)
    assert (run.infos()["train_loss"].kinds, run.infos()["train_loss"].points) == (["scalar"], 1)
    assert run.to_pandas().columns.tolist() == ["tag", "step", "wall_time", "value"]


# ---- declarations


def test_the_example_in_the_documentation_of_readers_works(tmp_path, monkeypatch):
    monkeypatch.setattr(format_module, "_readers", dict(format_module._readers))
    example = textwrap.dedent(format_module.__doc__.split("\n\n")[-1])
    exec(f"from __future__ import annotations\n{example}", {"__name__": __name__, **vars(format_module), **HELPERS})
    run = only_run(written(tmp_path / "train.mylog", "0 2.5\n10 1.5\n"))
    assert (run.format, points(run, "loss")) == ("my-log", [(0, 2.5), (10, 1.5)])


def test_every_format_has_one_reader_and_fallbacks_come_last():
    ids = [one.id for one in all_readers()]
    assert len(ids) == len(set(ids))
    assert set(ids) >= {
        "csv", "json", "json-log", "lightning-csv", "long-csv", "mlflow-database", "mlflow-files", "text",
        "trainer-state", "wandb",
    }  # fmt: skip
    fallbacks = [one.fallback for one in all_readers()]
    assert fallbacks == sorted(fallbacks)


def test_two_readers_with_one_id_are_refused_and_both_files_named():
    with pytest.raises(PulseboardError, match=r"Two readers have the id 'csv'.*csv_table\.py and .*test_bad_files"):
        reader(id="csv", files=("*.x",))(lambda path: iter(()))


def test_a_file_that_the_user_gave_is_recognized_by_its_content_whatever_its_name(tmp_path):
    path = written(tmp_path / "nohup", "step 1: loss 2.0\nstep 2: loss 1.0\n")
    assert reader_for(Candidate(str(path))) is None
    assert reader_for(Candidate(str(path), given=True)).id == "text"
