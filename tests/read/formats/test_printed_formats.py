"""Logs of programs that do not run here, written as their sources print them."""

import json

from other_formats import only_run, points, runs_of_other_formats, written


def found(run, *tags):
    return {tag: points(run, tag) for tag in tags}


# ---- language models


def test_megatron_lines_start_with_a_date_in_brackets(tmp_path):
    text = " > building train, validation, and test datasets ...\n"
    for i in (10, 20, 30):
        text += (
            f" [2026-01-01 00:00:{i}] iteration {i:8d}/{500:8d} | consumed samples: {i * 8:12d} |"
            f" elapsed time per iteration (ms): {812.5:.1f} | throughput per GPU (TFLOP/s/GPU): {151.5:.1f} |"
            f" learning rate: {1.5e-4:.6E} | global batch size: {8:5d} | lm loss: {10 - i / 16:.6E} |"
            f" loss scale: {1.0:.1f} | grad norm: {2.5:.3f} | number of skipped iterations: {0:3d} |"
            f" number of nan iterations: {0:3d} |\n"
        )
    text += (
        "-" * 80 + "\n validation loss at iteration 30 | lm loss value: 8.250000E+00 | lm loss PPL: 3.827650E+03 | \n"
    )
    run = only_run(written(tmp_path / "train.log", text))
    assert found(run, "lm_loss", "consumed_samples", "grad_norm") == {
        "lm_loss": [(10, 9.375), (20, 8.75), (30, 8.125)],
        "consumed_samples": [(10, 80.0), (20, 160.0), (30, 240.0)],
        "grad_norm": [(10, 2.5), (20, 2.5), (30, 2.5)],
    }
    assert points(run, "learning_rate")[0] == (10, 1.5e-4)


def test_deepspeed_prints_steps_with_and_without_its_pipeline(tmp_path):
    pipeline = "".join(
        f"steps: {i} loss: {9 - i / 16:0.4f} iter time (s): {0.5:0.3f} samples/sec: {32:0.3f}\n" for i in (10, 20)
    )
    run = only_run(written(tmp_path / "pipe.log", pipeline))
    assert points(run, "loss") == [(10, 8.375), (20, 7.75)]
    assert points(run, "samples/sec") == [(10, 32.0), (20, 32.0)]
    prefix = "[2026-01-01 00:00:0{}, 123] [INFO] [logging.py:129:log_dist] [Rank 0] ".replace(", 123", ",123")
    engine = "".join(
        prefix.format(i)
        + f"step={i * 10}, skipped=0, lr=[{i / 1024}], mom=[(0.9, 0.95)]\n"
        # The timer's line for the same step.
        + prefix.format(i)
        + f"epoch=0/micro_step={i * 10}/global_step={i * 10}, RunningAvgSamplesPerSec=99.5, "
        f"CurrSamplesPerSec={100 + i}.25, MemAllocated=0.5GB, MaxMemAllocated=1.5GB\n"
        for i in (1, 2, 3, 4, 5)
    )
    run = only_run(written(tmp_path / "engine.log", engine))
    assert points(run, "lr") == [(i * 10, i / 1024) for i in (1, 2, 3, 4, 5)]
    assert points(run, "CurrSamplesPerSec") == [(i * 10, 100.25 + i) for i in (1, 2, 3, 4, 5)]


def test_torchtitan_prints_colors_thousands_and_validations(tmp_path):
    red, green, reset = "\033[31m", "\033[32m", "\033[39m"
    prefix = "[titan] 2026-01-01 00:00:0{},123 - root - INFO - "
    text = ""
    for i in (1, 2, 3):
        text += prefix.format(i) + (
            f"{red}step: {i:2}  {green}loss: {8 - i / 8:8.5f}  grad_norm: {1.25:7.4f}  "
            f"memory: {30.5:5.2f}GiB({38.5:.2f}%)  "
            f"tps: {10270 + i:,}  tflops: {1234.5:,.2f}  mfu: {39.25:.2f}%{reset}\n"
        )
    text += (
        prefix.format(4)
        + f"{red}validate step:  3  {green}loss: {7.5:7.4f}  memory: {30.5:5.2f}GiB({38.5:.2f}%)  tps: 9,000{reset}\n"
    )
    run = only_run(written(tmp_path / "train.log", text))
    assert found(run, "loss", "tps", "tflops", "mfu") == {
        "loss": [(1, 7.875), (2, 7.75), (3, 7.625)],
        "tps": [(1, 10271.0), (2, 10272.0), (3, 10273.0)],
        "tflops": [(1, 1234.5), (2, 1234.5), (3, 1234.5)],
        "mfu": [(1, 39.25), (2, 39.25), (3, 39.25)],
    }
    assert points(run, "validate/loss") == [(3, 7.5)]


def test_llm_c_names_its_losses_with_three_letters(tmp_path):
    text = "s:0 tel:11.0094\n" + "".join(
        f"s:{i} trl:{11 - i / 8:.4f} lr:{i / 1024:.6f} norm:{2.5:.2f}\n" for i in range(4)
    )
    text += "s:3 eval:0.2525\ns:3 tel:10.5000\n"
    run = only_run(written(tmp_path / "log124M" / "main.log", text))
    assert found(run, "train_loss", "val_loss", "norm") == {
        "train_loss": [(0, 11.0), (1, 10.875), (2, 10.75), (3, 10.625)],
        "val_loss": [(0, 11.0094), (3, 10.5)],
        "norm": [(i, 2.5) for i in range(4)],
    }
    assert points(run, "eval") == [(3, 0.2525)]


# ---- pictures


def test_pix2pix_and_cyclegan_have_one_line_or_two(tmp_path):
    for name, break_ in (("loss_log.txt", ""), ("two_lines.txt", "\n")):
        text = "================ Training Loss (Thu Jan  1 00:00:00 2026) ================\n"
        for epoch in (1, 2):
            for iters in (100, 200):
                text += f"(epoch: {epoch}, iters: {iters}, time: {0.125:.3f}, data: {0.25:.3f}) {break_}"
                text += f"D_A: {epoch / 8:.3f} G_A: {iters / 800:.3f} cycle_A: {1.5:.3f} \n"
        run = only_run(written(tmp_path / name, text))
        assert found(run, "D_A", "G_A") == {
            "D_A": [(100, 0.125), (200, 0.125), (300, 0.25), (400, 0.25)],
            "G_A": [(100, 0.125), (200, 0.25), (300, 0.125), (400, 0.25)],
        }, name


def test_mmcv_counts_the_validation_data_in_its_validations(tmp_path):
    prefix = "2026-01-01 00:0{}:00,123 - mmdet - INFO - "
    text, records = "", [{"env_info": "Python: 3.11", "seed": 0, "exp_name": "config.py"}]
    for epoch in (1, 2):
        for i in (50, 100):
            loss = 4.5 - epoch - i / 400
            text += prefix.format(epoch) + (
                f"Epoch [{epoch}][{i}/100]\tlr: {0.02:.3e}, eta: 1 day, 0:30:00, time: {0.5:.3f}, "
                f"data_time: {0.125:.3f}, memory: 3000, loss_cls: {0.25:.4f}, loss: {loss:.4f}\n"
            )
            times = {"memory": 3000, "data_time": 0.125, "loss_cls": 0.25, "loss": loss, "time": 0.5}
            records.append({"mode": "train", "epoch": epoch, "iter": i, "lr": 0.02, **times})
        text += prefix.format(epoch) + f"Epoch(val) [{epoch}][5000]\tbbox_mAP: {epoch / 8:.4f}, bbox_mAP_50: 0.5000\n"
        records.append(
            {"mode": "val", "epoch": epoch, "iter": 5000, "lr": 0.02, "bbox_mAP": epoch / 8, "bbox_mAP_50": 0.5}
        )
    expected = {"loss": [(50, 3.375), (100, 3.25), (150, 2.375), (200, 2.25)]}
    run = only_run(written(tmp_path / "20260101.log", text))
    assert found(run, "loss") == expected
    assert points(run, "val/bbox_mAP") == [(100, 0.125), (200, 0.25)]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    run = only_run(written(tmp_path / "20260101.log.json", lines))
    assert found(run, "loss") == expected
    assert points(run, "bbox_mAP") == [(100, 0.125), (200, 0.25)]


def test_detectron2_appends_trainings_to_one_file(tmp_path):
    def lines(first):
        return [
            {"data_time": 0.01, "eta_seconds": 90.5, "iteration": i, "lr": 0.001, "total_loss": first - i / 64}
            for i in (19, 39, 59)
        ]

    text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in [*lines(4), *lines(8)])
    runs = runs_of_other_formats(written(tmp_path / "output" / "metrics.json", text))
    assert len(runs) == 2
    for run, first in zip(runs.values(), (4, 8), strict=True):
        assert points(run, "total_loss") == [(i, first - i / 64) for i in (19, 39, 59)]


def test_detectron2_prints_its_losses_and_names_its_results_on_the_line_before(tmp_path):
    """As CommonMetricPrinter and print_csv_format write them, below the prefix of its logger."""
    text = ""
    for i in (19, 39, 59, 79):
        text += (
            f"[01/01 00:00:{i // 2:02d} d2.utils.events]:  eta: 0:01:30  iter: {i}  total_loss: {4.5 - i / 64:.4g}  "
            f"loss_cls: {1.25:.4g}  loss_box_reg: {0.5:.4g}    time: {0.512:.4f}  last_time: {0.5:.4f}  "
            f"data_time: {0.01:.4f}  last_data_time: {0.01:.4f}   lr: {i / 4000:.5g}  max_mem: {2500:.0f}M\n"
        )
        if i in (39, 79):
            prefix = "[01/01 00:00:30 d2.evaluation.testing]: copypaste: "
            text += f"{prefix}Task: bbox\n{prefix}AP,AP50\n{prefix}{i / 8:.4f},{i / 4:.4f}\n"
    run = only_run(written(tmp_path / "output" / "log.txt", text))
    assert points(run, "total_loss") == [(i, float(f"{4.5 - i / 64:.4g}")) for i in (19, 39, 59, 79)]
    assert points(run, "lr") == [(i, float(f"{i / 4000:.5g}")) for i in (19, 39, 59, 79)]
    assert found(run, "bbox/AP", "bbox/AP50") == {
        "bbox/AP": [(39, 4.875), (79, 9.875)],
        "bbox/AP50": [(39, 9.75), (79, 19.75)],
    }


# ---- as found in published logs


def test_two_pairs_in_brackets_are_epoch_and_iteration_wherever_they_are(tmp_path):
    text = "".join(
        f"2026-01-01 00:00:0{e},647 DBNet INFO: [{e}/200], [{i}/604], global_step: {604 * (e - 1) + i}, loss: {e}.5\n"
        for e in (1, 2)
        for i in (1, 2)
    )
    run = only_run(written(tmp_path / "train.log", text))
    assert points(run, "loss") == [(1, 1.5), (2, 1.5), (605, 2.5), (606, 2.5)]
    assert points(run, "epoch") == [(1, 1.0), (2, 1.0), (605, 2.0), (606, 2.0)]
    assert set(run.tags()) == {"epoch", "loss"}


def test_a_split_may_have_a_second_word(tmp_path):
    text = "".join(
        f"[Train Classifier] Epoch: {e}, Accuracy:{e}.5\n[Val Classifier] Epoch: {e}, Accuracy:{e}.25\n"
        for e in range(3)
    )
    run = only_run(written(tmp_path / "log.txt", text))
    assert found(run, "Accuracy", "val/Accuracy") == {
        "Accuracy": [(0, 0.5), (1, 1.5), (2, 2.5)],
        "val/Accuracy": [(0, 0.25), (1, 1.25), (2, 2.25)],
    }


def test_the_place_a_message_comes_from_and_tables_of_classes_are_not_metrics(tmp_path):
    text = ""
    for i in range(1, 5):
        text += f"2026-01-01 00:00:0{i}.123\thost-03:0\tolmo.train:990\tINFO\t[step={i}0/100,epoch=0]\n"
        text += f"    train/loss={9 - i}.5\n"
        text += f"| watercraft | {i}.25 | apple | {i}.75 |\n"
    run = only_run(written(tmp_path / "train.log", text))
    assert points(run, "train/loss") == [(i * 10, 9.5 - i) for i in range(1, 5)]
    assert not {"olmo.train", "watercraft", "apple"} & set(run.tags())


def test_settings_that_are_printed_again_at_a_resume_are_not_metrics(tmp_path):
    settings = "MODEL:\n  LOSS_WEIGHT: 1.5\n  FOCAL_LOSS_ALPHA: 0.25\n"
    lines = [f"iter: {i}  total_loss: {i}.5\n" for i in range(0, 400, 20)]
    run = only_run(
        written(tmp_path / "log.txt", settings + "".join(lines[:10]) + settings + "".join(lines[10:]) + settings)
    )
    assert run.tags() == ["total_loss"]
    assert points(run, "total_loss") == [(i, i + 0.5) for i in range(0, 400, 20)]


def test_epochs_that_were_rounded_do_not_merge_steps(tmp_path):
    """The Trainer of older versions prints two digits of the epoch."""
    text = "".join(f"{{'loss': {i}.5, 'learning_rate': 5e-05, 'epoch': {round(i / 400, 2)}}}\n" for i in range(100))
    run = only_run(written(tmp_path / "train.log", text))
    assert points(run, "loss") == [(i, i + 0.5) for i in range(100)]
    assert points(run, "epoch")[-1] == (99, 0.25)
    assert "rounded epochs" in run.axis.note


def test_a_count_that_is_announced_is_not_a_metric(tmp_path):
    text = "Training for total timesteps: 5000\n" + "".join(f"step {i} loss {i}.5\n" for i in range(20))
    run = only_run(written(tmp_path / "train.log", text))
    assert run.tags() == ["loss"]


def test_a_progress_bar_that_is_drawn_twice_counts_once(tmp_path):
    bars = "".join(
        f"\r {i * 10}%|█ | {i}/10 [00:01<00:09, 9.5it/s, loss={loss - i}.5]" for i in (1, 2, 3) for loss in (9, 8)
    )
    run = only_run(written(tmp_path / "train.log", bars + "\n"))
    assert points(run, "loss") == [(1, 7.5), (2, 6.5), (3, 5.5)]


def test_bars_of_finished_epochs_each_count(tmp_path):
    bars = "".join(f"Epoch {e}/3: 100%|█| 235/235 [00:09<00:00, 25it/s, loss={3 - e}.5]\n" for e in (1, 2, 3))
    run = only_run(written(tmp_path / "train.log", bars))
    assert [value for _, value in points(run, "loss")] == [2.5, 1.5, 0.5]


def test_a_table_that_was_copied_from_a_notebook_has_tabs_and_text_before_it(tmp_path):
    text = (
        " [466/500 1:31:55 < 06:44, 0.08 it/s, Epoch 4.12/5]\nStep\tTraining Loss\tValidation Loss\n"
        "10\tNo log\t2.500000\n20\t2.250000\t2.000000\n30\t1.500000\t1.750000\n"
    )
    run = only_run(written(tmp_path / "train_loss.txt", text))
    assert found(run, "Training Loss", "Validation Loss") == {
        "Training Loss": [(20, 2.25), (30, 1.5)],
        "Validation Loss": [(10, 2.5), (20, 2.0), (30, 1.75)],
    }
