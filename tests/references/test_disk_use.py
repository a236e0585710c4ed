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
# GPT-2 small has 148 parameter tensors, each with a histogram of its values and one of its gradients.
TENSORS = 148


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
            run.log({tag: step / 7 for tag in SCALARS}, step=step)

    assert 0 < logged(tmp_path, "scalars", log) < 1000 * 1000


def test_the_histograms_of_a_step_and_a_text_take_less_than_the_guide_estimates(tmp_path):
    values = np.random.default_rng(0).normal(size=1000)

    def histograms(run):
        for i in range(TENSORS):
            run.histogram(f"Parameters/layer{i}", values, step=0)
            run.histogram(f"Gradients/layer{i}", values, step=0)

    assert 0 < logged(tmp_path, "histograms", histograms) < 500_000
    assert 0 < logged(tmp_path, "text", lambda run: run.text("Generated_Samples/text", "word " * 400, step=0)) < 10_000
