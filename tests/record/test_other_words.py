"""What users of other trackers type."""

import http.server
import json
import math
import threading

import numpy as np
import pytest
from record.recorded_runs import begin, points, read

import pulseboard as pb


def fields_of(run):
    return json.loads((run.directory / "run.json").read_text())


def test_log_and_finish_use_the_run_that_started_last(tmp_path):
    run = begin(tmp_path)
    pb.log({"x": 1.0})
    pb.log({"x": 2.0}, step=5)
    pb.finish()
    pb.finish()
    assert run.finished
    assert points(read(tmp_path).series("x")) == [(0, 1.0), (5, 2.0)]


def test_project_name_group_and_job_type(tmp_path):
    with begin(tmp_path, project="gpt", name="base line", group="g", job_type="train") as run:
        assert (run.project, run.name, run.group, run.job_type) == ("gpt", "base line", "g", "train")
        assert run.directory.parent == tmp_path / "runs" / "gpt"
        assert run.id.endswith("_001-base-line")
    fields = fields_of(run)
    assert [fields[name] for name in ("project", "name", "group", "job_type")] == ["gpt", "base line", "g", "train"]


def test_one_text_is_one_tag(tmp_path):
    with begin(tmp_path, tags="abc") as run:
        assert run.tags == ["abc"]
        run.tags = "xyz"
        assert run.tags == ["xyz"]


def test_the_config_has_attributes_and_saves_itself(tmp_path):
    with begin(tmp_path, config={"lr": 0.1}) as run:
        assert run.config.lr == 0.1
        run.config.lr = 0.2
        run.config["seed"] = 3
        run.config.update({"layers": 4}, batch=5)
        assert run.config.setdefault("seed", 9) == 3
        assert fields_of(run)["config"] == {"lr": 0.2, "seed": 3, "layers": 4, "batch": 5} == run.config
        del run.config["seed"]
        assert "seed" not in fields_of(run)["config"]
        with pytest.raises(AttributeError, match="The config has no 'rate'"):
            run.config.rate  # noqa: B018  # reading it is the test


def test_the_summary_has_last_smallest_largest_and_best(tmp_path):
    with begin(tmp_path) as run:
        run.define_metric("val/loss", goal="minimize")
        run.define_metric("val/acc*", summary="max")
        for step, (loss, accuracy) in enumerate([(3.0, 0.1), (1.0, 0.9), (math.nan, 0.3), (2.0, 0.4)]):
            run.log({"val/loss": loss, "val/accuracy": accuracy, "other": 1.0}, step=step)
        run.summary["note"] = "good"
        assert run.summary["val/loss"] == 2.0
        assert (run.summary["val/loss.min"], run.summary["val/loss.max"], run.summary["val/loss.best"]) == (
            1.0,
            3.0,
            1.0,
        )
        assert run.summary["val/accuracy.best"] == 0.9
        assert "other" not in run.summary
        assert dict(run.summary) == {"val/loss": 2.0, "val/accuracy": 0.4, "note": "good"}
        with pytest.raises(ValueError, match="goal must be"):
            run.define_metric("x", goal="up")
    summary = fields_of(run)["summary"]
    assert (summary["val/loss"]["best"], summary["val/loss"]["best_step"], summary["note"]) == (1.0, 1, "good")


def test_a_resumed_run_keeps_the_best_of_its_summary(tmp_path):
    for value in (0.5, 0.7):
        with begin(tmp_path, run_id="r", resume="allow") as run:
            run.define_metric("loss", goal="minimize")
            run.log({"loss": value}, step=0)
    assert run.summary["loss.best"] == 0.5


def test_media_are_logged_together_with_numbers_and_captions(tmp_path):
    import matplotlib.figure
    import PIL.Image

    with begin(tmp_path) as run:
        figure = matplotlib.figure.Figure(figsize=(1, 1))
        figure.subplots().plot([1, 2])
        run.log(
            {
                "loss": 0.5,
                "image": pb.Image(np.zeros((4, 6, 3)), caption="a cat"),
                "pillow": PIL.Image.new("RGB", (6, 4)),
                "figure": figure,
                "images": [pb.Image(np.zeros((4, 4))), pb.Image(np.ones((4, 4)), caption="second")],
                "sound": pb.Audio(np.zeros(100), sample_rate=8000, caption="silence"),
                "video": pb.Video(np.zeros((3, 3, 4, 4))),
                "text": pb.Text("hello"),
                "histogram": pb.Histogram([1.0, 2.0, 3.0]),
                "table": pb.Table(["word", "count"], [["a|b", 1]]),
                "pr": pb.PRCurve([0, 1, 1], [0.1, 0.9, 0.4]),
                "confusion": pb.ConfusionMatrix([0, 1, 1], [0, 1, 0], classes=["cat", "dog"]),
            },
            step=3,
        )
    got = read(tmp_path)
    assert points(got.series("loss")) == [(3, 0.5)]
    assert set(got.tags("image")) == {"image", "pillow", "figure", "images/0", "images/1", "video", "confusion"}
    assert got.tags("histogram") == ["histogram"]
    assert got.tags("audio") == ["sound"]
    assert got.tags("pr_curve") == ["pr"]
    texts = {tag: got.texts(tag)[0] for tag in got.tags("text")}
    assert {tag: text.step for tag, text in texts.items()} == dict.fromkeys(
        ["image/caption", "images/1/caption", "sound/caption", "text", "table", "confusion/counts"], 3
    )
    assert got.texts("image/caption")[0].text == "a cat"
    assert got.texts("table")[0].text == "| word | count |\n| --- | --- |\n| a\\|b | 1 |"
    assert "| dog | 1 | 1 |" in got.texts("confusion/counts")[0].text


def test_artifacts_are_kept_by_their_hash(tmp_path):
    import hashlib

    source = tmp_path / "model.pt"
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "folder" / "inner" / "a.txt").write_text("first")
    with begin(tmp_path) as run:
        source.write_text("first")
        run.artifact(source)
        source.write_text("second")
        run.artifact(source)
        run.artifact(tmp_path / "folder")
    kept = fields_of(run)["artifacts"]
    hashes = [hashlib.sha256(text).hexdigest() for text in (b"first", b"second", b"first")]
    assert [(one["name"], one["sha256"]) for one in kept] == list(
        zip(["model.pt", "model.pt", "folder/inner/a.txt"], hashes, strict=True)
    )
    files = {path.name: path.read_text() for path in (run.directory / "artifacts").iterdir()}
    assert files == {hashes[0]: "first", hashes[1]: "second"}


def test_an_artifact_that_does_not_exist_does_not_stop_training(tmp_path, capsys):
    with begin(tmp_path, settings={"strict": False}) as run:
        run.artifact(tmp_path / "missing.pt")
    assert "missing.pt failed" in capsys.readouterr().err


def test_an_alert_is_printed_logged_and_posted(tmp_path, capsys):
    received = []

    class Hook(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            pass

    with http.server.HTTPServer(("localhost", 0), Hook) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with begin(tmp_path, name="mine", settings={"webhook": f"http://localhost:{server.server_port}"}) as run:
            run.log({"x": 1.0}, step=4)
            run.alert("loss is up", "look at it", level="warning")
        server.shutdown()
    assert received == [{"text": "*WARNING: loss is up* (mine)\nlook at it"}]
    assert "warning: loss is up. look at it" in capsys.readouterr().err
    (text,) = read(tmp_path).texts("alerts")
    assert (text.step, text.text) == (4, "**warning: loss is up**\n\nlook at it")


def test_a_disabled_run_takes_every_call_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pb.init(mode="disabled", config={"lr": 0.1}, tags="a") as run:
        pb.log({"x": 1.0})
        run.log({"x": 1.0, "image": pb.Image(np.zeros((4, 4)))}, step=3)
        run.histogram("h", [1.0])
        run.image("i", np.zeros((4, 4)))
        run.hparams({"lr": 0.1}, {"x": 1.0})
        run.define_metric("x")
        run.summary["y"] = 1
        run.config.seed = 2
        run.alert("title")
        run.artifact(tmp_path)
        run.flush()
        assert (run.config, run.tags, run.last_step, run.findings) == ({"lr": 0.1, "seed": 2}, ["a"], 3, [])
        assert not run.should_stop()
    assert run.finished
    assert list(tmp_path.iterdir()) == []
