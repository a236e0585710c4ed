"""Marks: kept after the server stops, outside the log directory, and safe with two servers."""

import json
import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import pytest
from log_directories import write_run
from other_formats import written
from servers import wait_for

from pulseboard.serve.http.errors import Conflict
from pulseboard.serve.marks import MarksFile
from pulseboard.serve.user_file import NotSaved

MARK = {"name": "the good one", "color": "#ff0000", "hidden": True, "note": "*", "tags": ["x"], "pinned": True}


def put(server, **marks):
    return server.api("marks", {"marks": marks}, method="PUT")


def test_marks_are_kept_after_the_server_stops_and_outside_the_log_directory(serve, tmp_path):
    logs = tmp_path / "logs"
    write_run(logs / "a")
    write_run(logs / "b")
    before = sorted(path.name for path in logs.rglob("*"))
    server = serve(logs)
    assert put(server, a={**MARK, "expected": ["loss-spike"]}).json["marks"]["a"]["expected"] == ["loss-spike"]
    server.stop()
    again = serve(logs)
    assert again.api("marks").json == {"marks": {"a": {**MARK, "expected": ["loss-spike"]}}}
    runs = {run["name"]: run["marks"] for run in again.api("runs").json["runs"]}
    assert (runs["a"]["name"], runs["b"]) == ("the good one", None)
    assert sorted(path.name for path in logs.rglob("*")) == before


def test_a_run_has_the_same_marks_in_every_log_directory(serve, tmp_path):
    write_run(tmp_path / "logs" / "sweep" / "a")
    put(serve(tmp_path / "logs"), **{"sweep/a": {"pinned": True}})
    assert serve(tmp_path / "logs" / "sweep").api("marks").json == {"marks": {"a": {"pinned": True}}}
    assert serve(f"mine:{tmp_path / 'logs'}").api("marks").json == {"marks": {"mine/sweep/a": {"pinned": True}}}


def test_setting_marks_replaces_only_those_of_the_given_runs(server):
    put(server, plain=MARK, rich={"pinned": True})
    assert put(server, plain={"hidden": True}).json["marks"] == {"plain": {"hidden": True}, "rich": {"pinned": True}}
    assert put(server, plain=None, rich={}).json["marks"] == {}


def test_marks_can_be_downloaded(server):
    assert "attachment" in server.api("marks?download=1").headers["content-disposition"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"marks": []},
        {"marks": {"plain": {"nonsense": 1}}},
        {"marks": {"plain": {"pinned": "yes"}}},
        {"marks": {"plain": {"tags": ["x"] * 1000}}},
        {"marks": {"plain": {"note": "x" * 100_000}}},
        {"marks": {"plain": {"name": "\ud800"}}},
    ],
)
def test_invalid_marks_are_refused(server, body):
    assert server.api("marks", body, method="PUT").status == 400


def test_marks_on_an_unknown_run_are_refused(server):
    assert put(server, nobody={"pinned": True}).status == 404


def _mark(path, name):
    file = MarksFile(path)
    for i in range(20):
        file.set({f"/logs/{name}/{i}": {"pinned": True}})


def test_two_servers_do_not_lose_each_others_marks(tmp_path):
    path = tmp_path / "marks.json"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_mark, args=(path, name)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(MarksFile(path).all()) == 40


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"marks": 1}', b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_file_is_renamed_and_never_overwritten(tmp_path, damage):
    path = tmp_path / "marks.json"
    path.write_bytes(damage)
    file = MarksFile(path)
    assert file.all() == {}
    file.set({"/logs/a": {"pinned": True}})
    assert json.loads(path.read_text())["marks"] == {"/logs/a": {"pinned": True}}
    assert (tmp_path / "marks.damaged.json").read_bytes() == damage


def test_a_directory_that_cannot_be_written_to_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotSaved, match="Cannot save"):
        MarksFile(tmp_path / "file" / "marks.json").set({"/a": {"pinned": True}})


def test_logs_in_one_directory_and_trainings_in_one_file_have_marks_of_their_own(serve, tmp_path):
    logs = tmp_path / "logs"
    for name, first in (("a", 2.0), ("b", 9.0)):
        rows = "".join(f"{step},{first - step / 8}\n" for _ in range(2) for step in range(6))
        written(logs / f"{name}.csv", "step,loss\n" + rows)
    for at, level in ((1e9, 1.0), (2e9, 5.0)):  # started twice in one directory
        write_run(
            logs / "events", *((step, level / (step + 1)) for step in range(6)), wall_time=at,
            name=f"events.out.tfevents.{at:.0f}.host",
        )  # fmt: skip
    server = serve(logs)
    names = {"a.csv", "a.csv/part 2", "b.csv", "b.csv/part 2", "events", "events/part 2"}
    assert {run["name"] for run in server.api("runs").json["runs"]} == names
    marked = {"a.csv/part 2": {"name": "second"}, "b.csv": {"pinned": True}, "events/part 2": {"note": "again"}}
    assert put(server, **marked).status == 200
    assert server.api("marks").json["marks"] == marked
    assert {run["name"]: run["marks"] for run in server.api("runs").json["runs"] if run["marks"]} == marked


def test_a_training_keeps_its_marks_when_it_saves_another_checkpoint(serve, tmp_path):
    def save(step):
        history = [{"step": s, "loss": 3.0 / s} for s in range(1, step + 1)]
        written(
            tmp_path / "logs" / "out" / f"checkpoint-{step}" / "trainer_state.json",
            json.dumps({"log_history": history}),
        )

    save(5)
    server = serve(tmp_path / "logs")
    assert put(server, out={"pinned": True}).status == 200
    save(8)
    wait_for(lambda: server.api("runs").json["runs"][0]["last_step"] == 8)
    assert server.api("marks").json["marks"] == {"out": {"pinned": True}}


def test_a_second_damage_does_not_overwrite_the_first(tmp_path):
    path = tmp_path / "marks.json"
    for damage in (b"{first", b"{second", b"{third"):
        path.write_bytes(damage)
        assert MarksFile(path).all() == {}
    kept = [tmp_path / f"marks.damaged{number}.json" for number in ("", "-2", "-3")]
    assert [one.read_bytes() for one in kept] == [b"{first", b"{second", b"{third"]


def test_a_file_of_a_newer_version_is_read_as_far_as_possible_and_stays_as_it_is(tmp_path):
    path = tmp_path / "marks.json"
    newer = {
        "schema": 2,
        "marks": {"/logs/a": {"pinned": True, "shape": "round", "tags": "one, two"}, "/logs/b": ["x"]},
    }
    path.write_text(json.dumps(newer))
    file = MarksFile(path)
    assert file.all() == {"/logs/a": {"pinned": True}}
    with pytest.raises(Conflict, match="newer version"):
        file.set({"/logs/a": {"pinned": False}})
    assert json.loads(path.read_text()) == newer
    assert not list(tmp_path.glob("*damaged*"))


@pytest.mark.parametrize("text", ['{"marks": {}}', '{"schema": 1, "marks": {}}', '{"schema": 0, "marks": {}}'])
def test_files_of_older_versions_are_read_and_written(tmp_path, text):
    path = tmp_path / "marks.json"
    path.write_text(text)
    MarksFile(path).set({"/logs/a": {"pinned": True}})
    assert json.loads(path.read_text()) == {"schema": 1, "marks": {"/logs/a": {"pinned": True}}}


def test_reading_does_not_wait_for_a_lock_that_another_process_holds(serve, tmp_path):
    fcntl = pytest.importorskip("fcntl")
    write_run(tmp_path / "logs" / "a")
    server = serve(tmp_path / "logs")
    put(server, a={"pinned": True})
    with open(tmp_path / "data" / "marks.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with ThreadPoolExecutor(1) as other:
            writing = other.submit(put, server, a={"pinned": False, "note": "later"})
            assert server.api("runs").json["runs"][0]["marks"] == {"pinned": True}
            response = writing.result()
    assert response.status == 503
    assert "lock" in response.error
    assert put(server, a={"note": "later"}).status == 200


def test_a_full_disk_is_not_the_mistake_of_the_client(serve, tmp_path):
    write_run(tmp_path / "logs" / "a")
    (tmp_path / "data").write_text("a file where the directory of the marks should be")
    response = put(serve(tmp_path / "logs"), a={"pinned": True})
    assert response.status == 507
    assert "Cannot save the marks" in response.error


@pytest.mark.parametrize("color", ["red", "#f00", "#ff000080", "rgb(1 2 3 / 50%)", "hsl(120, 50%, 50%)"])
def test_colors_of_css_are_accepted(server, color):
    assert put(server, plain={"color": color}).status == 200


@pytest.mark.parametrize("color", ["url(//far/x)", "red;width:9px", "var(--x)", "red\n", "#ggg", "rgb(url(x))", ""])
def test_a_color_cannot_bring_anything_else(server, color):
    assert put(server, plain={"color": color}).status == 400
