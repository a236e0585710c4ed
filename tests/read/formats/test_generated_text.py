"""Text that a language model wrote into a log, and settings that a program printed on the way: neither is a metric."""

from other_formats import only_run, points, written

ARITHMETIC = """\
Total Distance = 124 km + 372 km = 496 km
Average speed = 14 km / 1.8 hours = 7.78 km/h
A car travels 160 miles at {step} mph for 2 hours in 3 days. What is its speed?
Final answer: {step}
What is 3 plus 4, in apples. -> {step}
"""


def log(step_lines):
    return "".join(
        f"{before}step {step}: loss {4 - step / 16:.4f} | acc {step / 64:.4f}\n" for step, before in step_lines
    )


def test_equations_and_answers_are_not_metrics(tmp_path):
    text = log((step, ARITHMETIC.format(step=step)) for step in range(1, 21))
    run = only_run(written(tmp_path / "train.log", text))
    assert run.tags() == ["loss", "acc"]
    assert points(run, "loss") == [(step, 4 - step / 16) for step in range(1, 21)]


def test_fractions_and_differences_in_metric_lines_are_not_equations(tmp_path):
    lines = (
        f"Epoch 1 / 10 - Step {step} / 40 - loss = {4 - step / 16:.4f} - acc1 = {step / 16:.4f}\n" for step in range(40)
    )
    run = only_run(written(tmp_path / "train.log", "".join(lines)))
    assert points(run, "loss") == [(step, 4 - step / 16) for step in range(40)]
    assert points(run, "acc1") == [(step, step / 16) for step in range(40)]


def test_a_number_that_occurs_once_on_the_way_is_a_setting_and_a_last_one_a_result(tmp_path):
    steps = [(step, "quantization: enabled bits: 6 scale: 0.15 step: 9\n" if step == 10 else "") for step in range(20)]
    run = only_run(written(tmp_path / "train.log", log(steps) + "peak memory: 1024.5\n"))
    assert {"loss", "acc"} <= set(run.tags())
    assert not {"enabled_bits", "bits", "scale"} & set(run.tags())


def test_a_validation_that_comes_once_is_kept(tmp_path):
    steps = [(step, "val_loss: 2.5\n" if step == 10 else "") for step in range(20)]
    steps[15] = (15, "val_loss: 2.25\n")
    run = only_run(written(tmp_path / "train.log", log(steps)))
    assert points(run, "val_loss") == [(9, 2.5), (14, 2.25)]
