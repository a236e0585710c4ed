"""What a training like that of the monitoring guide takes on disk, compared with the guide's estimates."""

import numpy as np

import pulseboard as pb

SCALARS = [
    "Loss/train",
    "Loss/validation",
    "Learning_Rate/lr",
    "Gradient/norm",
    "Performance/step_time_ms",
    "Performance/tokens_per_sec",
    "Training/epoch",
    "Evaluation/hellaswag_accuracy",
]


def bytes_of(run):
    return sum(path.stat().st_size for path in run.directory.rglob("*tfevents*"))


def logged(tmp_path, name, log):
    with pb.init(dir=tmp_path, run_id=name, telemetry_secs=0, strict=True) as run:
        empty = bytes_of(run)
        log(run)
    return bytes_of(run) - empty


def test_the_scalars_of_a_step_take_less_than_the_kilobyte_of_the_guide(tmp_path):
    def log(run):
        for step in range(1000):
            run.log(dict.fromkeys(SCALARS, step / 7), step=step)

    assert 0 < logged(tmp_path, "scalars", log) < 1000 * 1000


def test_a_histogram_takes_no_more_than_torchs_and_a_text_less_than_the_guide_estimates(tmp_path):
    from torch.utils.tensorboard import SummaryWriter

    values = np.random.default_rng(0).normal(size=1000)
    with SummaryWriter(str(tmp_path / "torch")) as writer:
        for i in range(20):
            writer.add_histogram(f"Parameters/layer{i}", values, 0)
    torchs = sum(path.stat().st_size for path in (tmp_path / "torch").iterdir())

    def histograms(run):
        for i in range(20):
            run.histogram(f"Parameters/layer{i}", values, step=0)

    assert 0 < logged(tmp_path, "histograms", histograms) <= torchs
    assert 0 < logged(tmp_path, "text", lambda run: run.text("Generated_Samples/text", "word " * 400, step=0)) < 10_000
