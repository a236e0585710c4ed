"""What published logs have next to their metrics: prose, settings, progress bars, and lines of other shapes."""

import pytest
from other_formats import only_run, points, runs_of_other_formats, written

import pulseboard as pb


def _read(tmp_path, text):
    run = only_run(written(tmp_path / "train.log", text))
    return {tag: points(run, tag) for tag in run.tags()}


def test_text_that_a_model_generated_is_not_a_log(tmp_path):
    block = "**Step {i}:** Go.\n   * Distance = {i}2 miles\nStep 3: stop.\n**Final answer: {i}**\nreward is 0.{i}\n"
    text = "".join(
        block.format(i=1 + i % 2) * (1 + i % 3) + f"[step {20 * i}] avg_loss=0.{i} acc=0.5\n" for i in range(1, 9)
    )
    found = _read(tmp_path, text)
    assert found.keys() == {"reward", "avg_loss", "acc"}
    assert found["avg_loss"] == [(20 * i, i / 10) for i in range(1, 9)]


def test_a_counter_in_prose_does_not_move_the_step(tmp_path):
    text = "".join(
        f"Step: {i} | Loss: 0.{i}\nThen take step 15000: value = {i} meters\npolicy_loss: 0.{i}\n" for i in range(1, 9)
    )
    found = _read(tmp_path, text)
    assert found["policy_loss"] == [(i, i / 10) for i in range(1, 9)]


def test_settings_that_every_start_prints_are_not_metrics(tmp_path):
    settings = "FOCAL_LOSS_ALPHA: 0.25\n  SCORE_THRESH: 0.05\n# 1 epoch is 500 iterations\n"
    settings += "Configs: {'a': {'loss_weight': 1.5}}\n"
    steps = [settings * (i % 10 == 0) + f"iter: {i} total_loss: {9 - i / 10}\n" for i in range(40)]
    assert _read(tmp_path, "".join(steps)).keys() == {"total_loss"}


def test_a_flat_accuracy_is_a_metric(tmp_path):
    text = "".join(f"iter: {i} loss: {9 - i}\nAccuracy: 0.1\n" for i in range(9))
    assert _read(tmp_path, text)["Accuracy"] == [(i, 0.1) for i in range(9)]


@pytest.mark.parametrize(
    "line",
    [
        'log0(f"step:{step} val_loss:{val_loss:.4f} val_bpb:{val_bpb:.4f}")',
        'print("step: 1 val_loss: %.4f")',
        "[ERROR] DEVICE(19,python) Destroy] Op Error: failed. | Error Number: 0",
        "| cup | 7.698 | bird | 33.738 | apple | 7.237 |",
    ],
)
def test_code_errors_and_tables_of_classes_are_not_metrics(tmp_path, line):
    text = "".join(f"step: {i} loss: {9 - i}\n{line}\n" for i in range(9))
    assert _read(tmp_path, text) == {"loss": [(i, 9.0 - i) for i in range(9)]}


def test_the_line_of_code_that_logs_is_not_a_metric(tmp_path):
    line = "2025-12-26 22:21:16.853\thost:0\tolmo.train:{code}\tINFO\t[step={i}/9] train/loss={i}.5\n"
    found = _read(tmp_path, "".join(line.format(i=i, code=990 + i % 2) for i in range(1, 9)))
    assert found.keys() == {"train/loss"}


def test_of_an_evaluation_only_the_average_at_its_end_counts(tmp_path):
    lines = []
    for epoch in range(3):
        lines += [f"Epoch: [{epoch}]  [{i:>2}/20]  loss: {3 - epoch}.{i} (9.0)\n" for i in (0, 10)]
        lines += [
            f"Test:  [{i:>2}/10]  eta: 0:00:01  loss: 5.{i} ({epoch}.5)  Rv: 0.{i} (0.{epoch}25)\n" for i in (0, 5, 9)
        ]
    found = _read(tmp_path, "".join(lines))
    assert [value for _, value in found["test/loss"]] == [0.5, 1.5, 2.5]
    assert [value for _, value in found["test/Rv"]] == [0.025, 0.125, 0.225]
    assert [value for _, value in found["loss"]] == [3.0, 3.1, 2.0, 2.1, 1.0, 1.1]  # in a training, the batch's own


def test_an_evaluation_that_was_cut_off_does_not_count(tmp_path):
    lines = [
        f"Epoch: [{e}]  [0/20]  loss: {3 - e}.5 (9.0)\n"
        + "".join(f"Test: [{i}/98]  loss: 1.0 ({e}.{i})\n" for i in (0, 10, 20)[: 3 - e])
        for e in range(3)
    ]
    assert "test/loss" not in _read(tmp_path, "".join(lines))


def test_a_bar_that_is_drawn_twice_per_step_has_one_point_per_step(tmp_path):
    bar = " 1%|█   | {i}/400 [00:27<02:54, 7.42it/s, train_loss={loss:.2f}]\r"
    text = "".join(bar.format(i=i, loss=10 - i + 1) + bar.format(i=i, loss=10 - i) for i in range(1, 9))
    assert _read(tmp_path, text)["train_loss"] == [(i, 10.0 - i) for i in range(1, 9)]


def test_parts_of_a_line_keep_their_split(tmp_path):
    text = "".join(
        f"Epoch {i}/9 | Train Loss: {9 - i}.5 Acc: {i}0.5% | Val Loss: {9 - i}.7 Acc: {i}0.1%\n" for i in range(1, 4)
    )
    found = _read(tmp_path, text)
    assert found["Train_Acc"] == [(i, 10 * i + 0.5) for i in range(1, 4)]
    assert found["Val_Acc"] == [(i, 10 * i + 0.1) for i in range(1, 4)]
    assert "Acc" not in found


def test_the_period_of_an_abbreviation_does_not_end_a_name(tmp_path):
    (tmp_path / "log.txt").write_text(
        "".join(
            f"Epoch: 0{i} | Epoch Time: 0m 1{i}s\n\tTrain Loss: {9 - i}.5\n"
            f"\t Val. Loss: {9 - i}.7 |  Val. Acc: {i}0.1%\n"
            for i in range(1, 4)
        )
    )
    (run,) = pb.read(tmp_path / "log.txt").values()
    assert run.tags("scalar") == ["Train_Loss", "Val_Loss", "Val_Acc"]
    assert run.series("Val_Loss").values.tolist() == [8.7, 7.7, 6.7]


def test_a_score_belongs_to_the_part_that_its_line_begins_with(tmp_path):
    (tmp_path / "log.txt").write_text(
        "".join(
            f"Epoch {i}/9\n----------\ntrain Loss: {9 - i}.5 Acc: 0.{i}5\nval Loss: {9 - i}.7 Acc: 0.{i}1\n\n"
            for i in range(1, 4)
        )
    )
    (run,) = pb.read(tmp_path / "log.txt").values()
    assert run.tags("scalar") == ["train_Loss", "train_Acc", "val_Loss", "val_Acc"]
    assert run.series("val_Acc").values.tolist() == [0.11, 0.21, 0.31]


def test_correct_answers_of_all_are_a_share(tmp_path):
    (tmp_path / "log.txt").write_text(
        "".join(
            f"Train Epoch: {i} [0/60000 (0%)]\tLoss: {9 - i}.5\n\n"
            f"Test set: Average loss: {9 - i}.7, Accuracy: {i}125/10000 ({i}1%)\n\n"
            for i in range(1, 4)
        )
    )
    (run,) = pb.read(tmp_path / "log.txt").values()
    assert run.series("test/Accuracy").values.tolist() == pytest.approx([0.1125, 0.2125, 0.3125])


def quickstart(heading):
    """What PyTorch's quickstart prints."""
    return "".join(
        f"Epoch {i}\n-------------------------------\n"
        f"loss: {9 - i}.303494  [   64/60000]\nloss: {9 - i}.1  [ 6464/60000]\n"
        f"{heading} \n Accuracy: {i}4.4%, Avg loss: {9 - i}.079 \n\n"
        for i in range(1, 4)
    )


@pytest.mark.parametrize("heading", ["Test Error:", "Validation Error:"])
def test_a_heading_without_numbers_names_the_split_of_the_line_below(tmp_path, heading):
    split = heading.split()[0].lower()
    found = _read(tmp_path, quickstart(heading))
    assert [value for _, value in found[f"{split}/Accuracy"]] == [14.4, 24.4, 34.4]
    assert [value for _, value in found[f"{split}/Avg_loss"]] == [8.079, 7.079, 6.079]
    assert "loss" in found


@pytest.mark.parametrize("heading", ["Train Error:", "Testing the network", "Test 1:"])
def test_another_line_above_names_no_split(tmp_path, heading):
    found = _read(tmp_path, quickstart(heading))
    assert [value for _, value in found["Accuracy"]] == [14.4, 24.4, 34.4]


def test_a_heading_names_no_split_of_lines_that_are_not_indented(tmp_path):
    """The lines of the training may have the same shape."""
    steps = "".join(f"step: {i} loss: {9 - i}.5\n" for i in range(1, 9))
    assert set(_read(tmp_path, f"Test run:\n{steps}")) == {"loss"}


def test_a_table_below_one_line_of_names(tmp_path):
    rows = "".join(f"{i:<9} {9 - i}.500000    {9 - i}.700000    0.{i}10000  01:0{i}     \n" for i in range(3))
    (tmp_path / "fit.txt").write_text("epoch     train_loss  valid_loss  accuracy  time    \n" + rows)
    (run,) = pb.read(tmp_path / "fit.txt").values()
    assert run.tags("scalar") == ["train_loss", "valid_loss", "accuracy", "time"]
    assert run.series("valid_loss").steps.tolist() == [0, 1, 2]
    assert run.series("time").values.tolist() == [60, 61, 62]


def test_a_split_in_brackets_may_have_a_second_word(tmp_path):
    text = "".join(
        f"[Train Classifier] Epoch: {i}, Accuracy:5{i}.0\n[Val Classifier] Epoch: {i}, Accuracy:4{i}.0\n"
        for i in range(4)
    )
    found = _read(tmp_path, text)
    assert found == {"Accuracy": [(i, 50.0 + i) for i in range(4)], "val/Accuracy": [(i, 40.0 + i) for i in range(4)]}


def test_the_pair_after_a_logger_is_the_epoch(tmp_path):
    line = "2020-12-06 09:21:0{s},647 DBNet INFO: [{e}/200], [{i}/2], global_step: {s}, loss: {s}.5, lr:0.001\n"
    found = _read(tmp_path, "".join(line.format(s=2 * e + i, e=e + 1, i=i) for e in range(3) for i in (1, 2)))
    assert found["epoch"] == [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (6, 3)]
    assert found.keys() == {"epoch", "loss", "lr"}


def test_a_best_value_that_is_not_known_yet_is_left_out(tmp_path):
    best = "current best: recall: 0.{e}, train_loss: {best}\n"
    lines = [
        f"epoch: {e} train_loss: {9 - e}.5\n" + best.format(e=e, best=f"{9 - e}.5" if e else "inf") for e in range(6)
    ]
    found = _read(tmp_path, "".join(lines))
    assert found["train_loss"] == [(e, 9.5 - e) for e in range(6)]
    assert found["best_train_loss"] == [(e, 9.5 - e) for e in range(1, 6)]


def test_the_loss_on_the_line_of_an_evaluation_is_another_one(tmp_path):
    lines = [
        f"Epoch: [{e}/9] Iter:[{i}/20], Loss: {9 - e}.{i}, Acc:0.5\n"
        + f"Loss: {8 - e}.0, MeanIU: 0.{e}, Best_mIoU: 0.{e}\n" * (i == 10)
        for e in range(5)
        for i in (0, 10)
    ]
    found = _read(tmp_path, "".join(lines))
    assert [value for _, value in found["val/Loss"]] == [8.0, 7.0, 6.0, 5.0, 4.0]
    assert [value for _, value in found["MeanIU"]] == [0.0, 0.1, 0.2, 0.3, 0.4]
    assert len(found["Loss"]) == 10


def test_a_line_of_several_metrics_without_known_names_is_kept(tmp_path):
    block = "New best loss: {e}.5 at epoch {e}\nEpoch {e}/2000\nD_real: 0.{e}5, D_fake: 2.{e}, G: {e}.25, C: 4.{e}\n"
    found = _read(tmp_path, "".join(block.format(e=e) for e in range(8)))
    assert found["G"] == [(e, e + 0.25) for e in range(8)]


def test_a_unit_or_a_sentence_before_a_name_is_not_part_of_it(tmp_path):
    line = "Iter: {i}/99 done. Time per batch: 0.{i} sec reader_cost: 0.5{i} sec loss: 1.{i} Prune Rate 0.3{i}\n"
    assert _read(tmp_path, "".join(line.format(i=i) for i in range(6))).keys() == {
        "Time_per_batch",
        "reader_cost",
        "loss",
        "Prune_Rate",
    }


def test_final_values_of_several_trainings_are_not_a_curve(tmp_path):
    text = "".join(
        f"[2022-09-24 16:{i:02}:00,168][utils][INFO] - Retrieved <val/acc_best=0.51{i}>\n" for i in range(12)
    )
    written(tmp_path / "logs" / "train.log", text)
    assert runs_of_other_formats(tmp_path) == {}


def test_the_values_of_detectron2_get_the_names_of_the_line_before(tmp_path):
    lines = []
    for i in range(1, 7):
        lines.append(f"[11/18 14:34:{i:02}] d2.utils.events INFO: iter: {i}9  total_loss: {9 - i}.5  lr: 0.01\n")
        for task in ("bbox", "segm"):
            lines.append(f"[11/18 14:35:{i:02}] d2.evaluation.testing INFO: copypaste: Task: {task}\n")
            lines.append(f"[11/18 14:35:{i:02}] d2.evaluation.testing INFO: copypaste: AP,AP50\n")
            value = i + (task == "segm") / 2
            lines.append(f"[11/18 14:35:{i:02}] d2.evaluation.testing INFO: copypaste: {value:.4f},{2 * value:.4f}\n")
    found = _read(tmp_path, "".join(lines))
    assert found["bbox/AP"] == [(10 * i + 9, i) for i in range(1, 7)]
    assert found["segm/AP50"] == [(10 * i + 9, 2 * i + 1) for i in range(1, 7)]


def test_the_start_epoch_among_the_arguments_is_not_an_epoch(tmp_path):
    text = "Args:Namespace(lr=0.0003, max_epoch=800, start_epoch=0, workers=8)\n"
    lines = [f"==> Epoch {e}/800\n" + "".join(f"Batch {b}/60 Loss {9 - e}.{b}\n" for b in (20, 40)) for e in (1, 2, 3)]
    found = _read(tmp_path, text + "".join(lines))
    assert found["Loss"][:3] == [(20, 8.2), (40, 8.4), (80, 7.2)]


def test_chunks_of_an_evaluation_are_progress(tmp_path):
    steps = "".join(f"step:{i}/9 train_loss:{9 - i}.5\n" for i in range(1, 9))
    chunks = "".join(f"  ttt_chunk [{i}/30] bpb=1.{i} time=1.5s\n" for i in range(1, 31))
    assert _read(tmp_path, steps + chunks).keys() == {"train_loss"}


def test_rounded_epochs_take_their_steps_from_the_bar(tmp_path):
    bar = " 33%|███   | {count}/{total} [08:45<10:00, 1.5s/it]\r"
    lines = ["Total steps = 10200\n"]
    for i in range(1, 9):
        lines += [bar.format(count=3400 + i, total=10200), f"\n{{'loss': 0.{i}, 'epoch': 1.0{i // 4}}}\n"]
        lines += [bar.format(count=5, total=6) if i == 4 else ""]
    found = _read(tmp_path, "".join(lines))
    assert found["loss"] == [(3400 + i, i / 10) for i in range(1, 9)]


def test_bars_that_count_something_else_are_left_out(tmp_path):
    bar = " 33%|███   | {count}/400 [08:45<10:00, 1.5s/it]\n"
    text = "".join(f"epoch {i}: loss {9 - i}.5\n" + bar.format(count=50) + bar.format(count=400) for i in range(1, 9))
    assert _read(tmp_path, text) == {"loss": [(i, 9.5 - i) for i in range(1, 9)]}


def test_the_value_of_a_fraction_is_an_accuracy(tmp_path):
    line = "step {i}/9 | loss {loss}.5 | lr 1e-3\nevaluating: 0/1256HellaSwag: {i}059/10042 = 0.{i}054\n"
    found = _read(tmp_path, "".join(line.format(i=i, loss=9 - i) for i in range(1, 9)))
    assert found["HellaSwag/accuracy"] == [(i, float(f"0.{i}054")) for i in range(1, 9)]
    assert "HellaSwag" not in found


def test_digits_that_begin_a_word_after_a_slash_are_part_of_the_name(tmp_path):
    text = "".join(
        f"---- batch: {i}0 ----\nmean loss: {9 - i}\nacc/0_degree: 0.{i}\nacc/30_degree: 0.{i}5\n" for i in range(1, 9)
    )
    found = _read(tmp_path, text)
    assert found["acc/0_degree"] == [(10 * i, i / 10) for i in range(1, 9)]
    assert found["acc/30_degree"] == [(10 * i, float(f"0.{i}5")) for i in range(1, 9)]


def test_a_number_after_a_slash_is_a_total(tmp_path):
    text = "".join(f"step{i}/100 loss: {9 - i}\n" for i in range(1, 9))
    assert "loss" in _read(tmp_path, text)


@pytest.mark.parametrize("drawn", [9, 10])
def test_keras_draws_a_bar_again_when_its_epoch_was_validated(tmp_path, drawn):
    text = "".join(
        f"Epoch {e}/8\n{drawn if e % 2 else 9}/10 ━━━ 0s 105ms/step - loss: 0.{e}5\nEpoch {e}: val_loss improved\n"
        f"10/10 ━━━ 5s 122ms/step - loss: 0.{e} - val_loss: 1.{e}\n"
        for e in range(1, 9)
    )
    found = _read(tmp_path, text)
    assert found == {"loss": [(e, e / 10) for e in range(1, 9)], "val_loss": [(e, 1 + e / 10) for e in range(1, 9)]}
