"""Histograms, text, images, audio, figures and hyperparameters of a run, as TensorBoard sees them."""

import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing import event_accumulator
from torch.utils.tensorboard import SummaryWriter as TorchWriter

import pulseboard as pb

RNG = np.random.default_rng(0)


@pytest.fixture
def run(tmp_path):
    with pb.init(dir=tmp_path / "runs", run_id="r", telemetry_secs=0, strict=True) as run:
        yield run


def finished(run):
    run.finish()
    (got,) = pb.read(run.directory.parent).values()
    return got


def accumulated(directory):
    everything = dict.fromkeys(event_accumulator.DEFAULT_SIZE_GUIDANCE, 0)
    return event_accumulator.EventAccumulator(str(directory), size_guidance=everything).Reload()


@pytest.mark.parametrize(
    "values",
    [
        RNG.normal(0, 1, 10_000).astype(np.float32),
        torch.from_numpy(RNG.normal(0, 1e-4, (50, 40))),
        RNG.integers(-5, 5, 1000),
        [0.0, 0.0, 1.5],
    ],
    ids=["float32", "tensor", "integers", "list"],
)
def test_a_histogram_is_the_one_that_torch_writes(run, tmp_path, values):
    run.histogram("weights", values, step=3)
    run.finish()
    with TorchWriter(tmp_path / "torch") as writer:
        writer.add_histogram("weights", torch.as_tensor(np.asarray(values)), 3)
    (ours,) = accumulated(run.directory / "logs" / "tensorboard").Histograms("weights")
    (torchs,) = accumulated(tmp_path / "torch").Histograms("weights")
    assert ours.step == torchs.step == 3
    ours, torchs = ours.histogram_value, torchs.histogram_value
    assert (ours.bucket, ours.bucket_limit) == (torchs.bucket, torchs.bucket_limit)
    assert (ours.min, ours.max, ours.num) == (torchs.min, torchs.max, torchs.num)
    assert ours.sum == pytest.approx(torchs.sum, rel=1e-5, abs=1e-6)
    assert ours.sum_squares == pytest.approx(torchs.sum_squares, rel=1e-5)


def test_the_caller_may_change_the_array_at_once(run):
    values = np.ones(1000)
    run.histogram("w", values, step=0)
    values[:] = 5.0
    (histogram,) = finished(run).histograms("w")
    assert (histogram.min, histogram.max) == (1.0, 1.0)


@pytest.mark.parametrize("large", [False, True])
def test_large_inputs_are_left_to_the_worker(run, monkeypatch, large):
    from pulseboard.record.media import media_calls

    by_caller = []

    def noted(function):
        return lambda *args, **named: (by_caller.append(threading.get_ident() == caller), function(*args, **named))[1]

    caller = threading.get_ident()
    monkeypatch.setattr(media_calls, "histogram_of", noted(media_calls.histogram_of))
    monkeypatch.setattr(media_calls, "encode_image", noted(media_calls.encode_image))
    run.histogram("w", np.ones(media_calls.MAX_NUMBERS_IN_CALL + large), step=0)
    run.image("i", np.zeros((256 + large, 256), np.uint8), step=0)
    run.flush()
    assert by_caller == [not large, not large]


def test_what_may_wait_for_the_worker_is_limited(run, monkeypatch):
    from pulseboard.record.media import media_calls

    monkeypatch.setattr(media_calls, "MAX_NUMBERS_IN_CALL", 10)
    monkeypatch.setattr(media_calls, "MAX_WAITING_RECORDS", 5)
    hold = threading.Event()
    run.in_background(lambda: hold.wait(10))
    for step in range(10):
        run.histogram("w", np.full(100, float(step)), step=step)
    written = pb.read(run.directory.parent)[run.id].histograms("w")
    assert [h.step for h in written] == [5, 6, 7, 8, 9]  # by the call itself; the others wait
    monkeypatch.setattr(media_calls, "MAX_WAITING_RECORDS", 100)
    monkeypatch.setattr(media_calls, "MAX_WAITING_BYTES", 10_000)
    for step in range(10, 30):
        run.histogram("w", np.full(100, float(step)), step=step)
    assert run._waiting_bytes <= 10_000
    hold.set()
    assert sorted(h.step for h in finished(run).histograms("w")) == list(range(30))


def test_text_is_kept_unchanged(run):
    run.text("Generated_Samples/text", "# Größe\n\n*日本*", step=7)
    (text,) = finished(run).texts("Generated_Samples/text")
    assert (text.step, text.text) == (7, "# Größe\n\n*日本*")


@pytest.mark.parametrize(
    ("shape", "size", "named"),
    [
        ((3, 8, 12), (12, 8), {}),
        ((8, 12, 3), (12, 8), {}),
        ((8, 12), (12, 8), {}),
        ((1, 8, 12), (12, 8), {}),
        ((3, 3, 5), (3, 3), {"dataformats": "HWC"}),
    ],
)
def test_an_images_axes_are_guessed_or_named(run, shape, size, named):
    if named:
        shape = (3, 3, 4)
    run.image("picture", RNG.random(shape), step=1, **named)
    (image,) = finished(run).images("picture")
    assert (image.width, image.height) == size
    assert image.media_type == "image/png"


def test_an_image_is_read_back_pixel_for_pixel(run):
    from PIL import Image

    pixels = RNG.integers(0, 256, (9, 7, 3), dtype=np.uint8)
    run.image("a", pixels, step=0)
    run.image("b", Image.fromarray(pixels), step=0)
    got = finished(run)
    import io

    for tag in ("a", "b"):
        (image,) = got.images(tag)
        np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(image.frames[0]))), pixels)


def test_audio_is_a_wav_file(run):
    import io
    import wave

    samples = np.sin(np.arange(4410) / 20)
    run.audio("beep", samples, step=2, sample_rate=22050)
    (audio,) = finished(run).audio("beep")
    with wave.open(io.BytesIO(audio.clips[0].data)) as wav:
        assert (wav.getframerate(), wav.getnframes(), wav.getnchannels()) == (22050, 4410, 1)
        frames = np.frombuffer(wav.readframes(4410), np.int16)
    np.testing.assert_allclose(frames / 32767, samples, atol=1e-4)


def test_a_figure_is_drawn_and_closed(run):
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(2, 1), dpi=50)
    axes.plot([1, 2])
    run.figure("curve", figure, step=0)
    (image,) = finished(run).images("curve")
    assert (image.width, image.height) == (100, 50)
    assert plt.get_fignums() == []


def test_media_that_cannot_be_logged_are_reported_and_do_not_stop_training(tmp_path, capsys):
    with pb.init(dir=tmp_path, telemetry_secs=0) as run:
        run.histogram("h", object(), step=0)
        run.image("i", np.zeros(5), step=0)
        run.audio("a", np.zeros((2, 2, 2)), step=0)
        run.log({"x": 1.0}, step=0)
    stderr = capsys.readouterr().err
    for name in ("histogram", "image", "audio"):
        assert f"{name} failed" in stderr
    (got,) = pb.read(tmp_path).values()
    assert got.tags() == ["x"]


def test_hyperparameters_include_how_the_session_ended(tmp_path):
    for status in ("finished", "failed"):
        run = pb.init(dir=tmp_path / status, telemetry_secs=0, strict=True)
        run.hparams({"lr": 0.1, "optimizer": "adam", "amp": True, "none": None, "layers": [1, 2]}, {"accuracy": 0.9})
        run.finish(status=status)
        (got,) = pb.read(tmp_path / status).values()
        hparams = got.hparams()
        assert hparams.values == {"lr": 0.1, "optimizer": "adam", "amp": True, "layers": "[1, 2]"}
        assert hparams.status == {"finished": "success", "failed": "failure"}[status]
        assert [info.tag for info in hparams.metric_infos] == ["accuracy"]
        assert got.series("accuracy").values.tolist() == [pytest.approx(0.9)]


def test_media_of_other_ranks_are_not_written(tmp_path):
    from pulseboard.record.active_run import ActiveRun
    from pulseboard.record.rank import Rank
    from pulseboard.record.settings import Settings

    other = ActiveRun(Settings(runs_dir=str(tmp_path / "runs"), telemetry_secs=0, strict=True), rank=Rank(1, 2, 1))
    other.histogram("h", np.ones(3))
    other.text("t", "x")
    other.hparams({"a": 1})
    other.finish()
    assert not (tmp_path / "runs").exists()


# ---- a real TensorBoard


@contextlib.contextmanager
def tensorboard(logdir):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(logdir), "--host", "127.0.0.1"]
    server = subprocess.Popen([*command, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}/data/"
    finally:
        server.terminate()
        server.wait()


def ask(url, body=None, *, until, limit_secs=300):
    """What the server answers, once `until` holds for it: it loads in the background."""
    deadline = time.monotonic() + limit_secs
    while True:
        try:
            data = json.dumps(body).encode() if body is not None else None
            headers = {"Content-Type": "application/json"} if data else {}
            with urllib.request.urlopen(urllib.request.Request(url, data=data, headers=headers), timeout=120) as answer:
                got = json.loads(answer.read())
            if until(got):
                return got
        except (OSError, ValueError, KeyError):
            pass
        assert time.monotonic() < deadline, f"TensorBoard had no answer for {urllib.parse.urlsplit(url).path}"
        time.sleep(0.2)


def test_a_real_tensorboard_lists_everything_we_wrote(run):
    for step in range(5):
        run.log({"train/loss": 1.0 / (step + 1)}, step=step)
        run.histogram("weights", RNG.normal(size=100), step=step)
    run.text("note", "hello")
    run.image("picture", RNG.random((3, 8, 8)))
    run.audio("beep", np.zeros(100))
    run.hparams({"lr": 0.1}, {"train/loss": 0.2})
    run.finish()
    name = "r/logs/tensorboard"
    with tensorboard(run.directory.parent) as data:
        tags = ask(data + "plugin/scalars/tags", until=lambda got: name in got)
        assert "train/loss" in tags[name]
        query = urllib.parse.urlencode({"run": name, "tag": "train/loss"})
        points = ask(f"{data}plugin/scalars/scalars?{query}", until=lambda got: len(got) >= 5)
        assert [(step, pytest.approx(1.0 / (step + 1))) for step in range(5)] == [(p[1], p[2]) for p in points[:5]]
        for plugin, tag in [
            ("histograms", "weights"),
            ("distributions", "weights"),
            ("text", "note"),
            ("images", "picture"),
            ("audio", "beep"),
        ]:
            found = ask(f"{data}plugin/{plugin}/tags", until=lambda got: name in got)
            assert tag in found[name], plugin
        request = {"experimentName": "", "hparamsLimit": 0}
        experiment = ask(f"{data}plugin/hparams/experiment", request, until=lambda got: got.get("hparamInfos"))
        assert [info["name"] for info in experiment["hparamInfos"]] == ["lr"]
