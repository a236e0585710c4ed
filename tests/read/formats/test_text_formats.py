"""What programs print: each form with its metrics, its axis and its appended trainings."""

import pytest
from other_formats import levels, only_run, points, runs_of_other_formats, written


def read(tmp_path, text, name="train.log"):
    return only_run(written(tmp_path / name, text))


def found(run):
    return {tag: points(run, tag) for tag in run.tags()}


# ---- one line per step


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            [f"Train Epoch: {e} [{i}/60000 (0%)]\tLoss: {9 - e}.5" for e in (1, 2) for i in (0, 640)],
            {
                "epoch": [(0, 1.0), (640, 1.0), (60000, 2.0), (60640, 2.0)],
                "Loss": [(0, 8.5), (640, 8.5), (60000, 7.5), (60640, 7.5)],
            },
        ),
        (
            [f"Epoch: [{e}][{i}/100]\tTime 0.5 (0.6)\tLoss {9 - e}.5 (7.0)" for e in (0, 1) for i in (0, 50)],
            {
                "epoch": [(0, 0.0), (50, 0.0), (100, 1.0), (150, 1.0)],
                "Time": [(0, 0.5), (50, 0.5), (100, 0.5), (150, 0.5)],
                "Loss": [(0, 9.5), (50, 9.5), (100, 8.5), (150, 8.5)],
            },
        ),
        (
            [f"[{e}/3][{i}/200]\tLoss_D: {e}.5\tLoss_G: 2.25" for e in (0, 1) for i in (0, 100)],
            {
                "epoch": [(0, 0.0), (100, 0.0), (200, 1.0), (300, 1.0)],
                "Loss_D": [(0, 0.5), (100, 0.5), (200, 1.5), (300, 1.5)],
                "Loss_G": [(0, 2.25), (100, 2.25), (200, 2.25), (300, 2.25)],
            },
        ),
        (
            [
                f"(epoch: {e}, iters: {i}, time: 0.5, data: 0.25) G_GAN: {e}.5 D_real: 0.75 "
                for e in (1, 2)
                for i in (100, 200)
            ],
            {
                "epoch": [(100, 1.0), (200, 1.0), (300, 2.0), (400, 2.0)],
                "time": [(s, 0.5) for s in (100, 200, 300, 400)],
                "data": [(s, 0.25) for s in (100, 200, 300, 400)],
                "G_GAN": [(100, 1.5), (200, 1.5), (300, 2.5), (400, 2.5)],
                "D_real": [(s, 0.75) for s in (100, 200, 300, 400)],
            },
        ),
        (
            [
                f" iteration {i:8d}/  500000 | consumed samples: {i * 256} | elapsed time per iteration (ms): 1234.5 | "
                f"learning rate: 1.5E-04 | lm loss: {9 - i // 100}.125E+00 | grad norm: 2.5 |"
                for i in (100, 200)
            ],
            {
                "consumed_samples": [(100, 25600.0), (200, 51200.0)],
                "elapsed_time_per_iteration_(ms)": [(100, 1234.5), (200, 1234.5)],
                "learning_rate": [(100, 1.5e-4), (200, 1.5e-4)],
                "lm_loss": [(100, 8.125), (200, 7.125)],
                "grad_norm": [(100, 2.5), (200, 2.5)],
            },
        ),
        (
            [f"[{i}]\tvalidation_0-logloss:0.{9 - i}\tvalidation_1-logloss:0.5" for i in range(3)],
            {
                "validation_0-logloss": [(0, 0.9), (1, 0.8), (2, 0.7)],
                "validation_1-logloss": [(0, 0.5), (1, 0.5), (2, 0.5)],
            },
        ),
        (
            [f"[{i}]\ttraining's binary_logloss: 0.{9 - i}\tvalid_1's auc: 0.5" for i in (1, 2)],
            {"training's_binary_logloss": [(1, 0.8), (2, 0.7)], "valid_1's_auc": [(1, 0.5), (2, 0.5)]},
        ),
        (
            [f"{i}:\tlearn: 0.{9 - i}\ttest: 0.{9 - i}5\tbest: 0.5 (0)\ttotal: 50.5ms" for i in range(2)],
            {
                "learn": [(0, 0.9), (1, 0.8)],
                "test": [(0, 0.95), (1, 0.85)],
                "best": [(0, 0.5), (1, 0.5)],
                "total": [(0, 50.5), (1, 50.5)],
            },
        ),
        (
            [f"{i}th epoch, {b}th mini-batch, loss is {i}.5" for i in (0, 1) for b in (0, 1)],
            {"epoch": [(0, 0.0), (1, 0.0), (2, 1.0), (3, 1.0)], "loss": [(0, 0.5), (1, 0.5), (2, 1.5), (3, 1.5)]},
        ),
        (
            [f"{i}/20000 train_loss: {9 - i}.5 tok/s: 100" for i in (1, 2)],
            {"train_loss": [(1, 8.5), (2, 7.5)], "tok/s": [(1, 100.0), (2, 100.0)]},
        ),
    ],
    ids=[
        "pytorch-mnist", "imagenet", "dcgan", "pix2pix", "megatron", "xgboost", "lightgbm", "catboost", "ordinals",
        "count-of",
    ],
)  # fmt: skip
def test_lines_with_counts_are_read(tmp_path, lines, expected):
    run = read(tmp_path, "\n".join([*lines, ""]))
    assert found(run) == expected
    assert "Read as text" in run.axis.note


def test_the_trainers_dictionaries_have_fractions_of_epochs(tmp_path):
    text = "".join(
        f"{{'loss': {9 - i}.5, 'grad_norm': 1.25, 'learning_rate': 5e-05, 'epoch': {(i + 1) / 4}}}\n" for i in range(4)
    )
    run = read(
        tmp_path, text + "{'eval_loss': 3.5, 'eval_runtime': 2.0, 'epoch': 1.0}\n{'train_runtime': 9.5, 'epoch': 1.0}\n"
    )
    assert points(run, "loss") == [(1, 9.5), (2, 8.5), (3, 7.5), (4, 6.5)]
    assert points(run, "eval_loss") == [(4, 3.5)]
    assert (run.axis.kind, run.axis.steps_per_epoch) == ("epoch", 4.0)


def test_a_progress_bar_with_metrics_counts_its_iterations(tmp_path):
    bars = "".join(
        f"\rEpoch 0:  {i}0%|██        | {i}0/100 [00:01<00:09, 9.5it/s, loss={9 - i}.5, v_num=3]" for i in (1, 2, 3)
    )
    run = read(tmp_path, bars + "\n")
    assert points(run, "loss") == [(10, 8.5), (20, 7.5), (30, 6.5)]
    assert "v_num" not in run.tags()


def test_fairseq_names_the_data_before_the_numbers(tmp_path):
    text = ""
    for epoch in (1, 2):
        for update in (100, 200):
            text += (
                f"2026-01-01 00:00:0{epoch} | INFO | train_inner | epoch 00{epoch}: {update} / 1000 "
                f"loss={9 - epoch}.5, ppl=300, num_updates={1000 * (epoch - 1) + update}, lr=0.0005\n"
            )
        text += f"2026-01-01 00:00:0{epoch} | INFO | valid | epoch 00{epoch} | valid on 'valid' subset | "
        text += f"loss 4.5 | ppl 15 | num_updates {1000 * epoch}\n"
    run = read(tmp_path, text)
    assert points(run, "loss") == [(100, 8.5), (200, 8.5), (1100, 7.5), (1200, 7.5)]
    assert points(run, "valid/loss") == [(1000, 4.5), (2000, 4.5)]


def test_espnet_counts_epochs_before_their_name(tmp_path):
    lines = [
        f"[host] 2026-01-01 00:00:0{e} (trainer:338) INFO: {e}epoch results: "
        f"[train] loss={9 - e}.5, acc=0.5, [valid] loss={9 - e}.75, acc=0.25"
        for e in (1, 2)
    ]
    run = read(tmp_path, "\n".join([*lines, ""]))
    assert points(run, "train/loss") == [(1, 8.5), (2, 7.5)]
    assert points(run, "valid/loss") == [(1, 8.75), (2, 7.75)]
    assert "trainer" not in run.tags()


def test_deepspeed_lines_have_a_step_and_no_source_lines(tmp_path):
    lines = [
        f"[2026-01-01 00:00:0{i},123] [INFO] [logging.py:96:log_dist] [Rank 0] "
        f"step={i}0, skipped={i}, lr=[9.5e-06], mom=[(0.9, 0.95)], loss={9 - i}.5"
        for i in (1, 2, 3)
    ]
    run = read(tmp_path, "\n".join([*lines, ""]))
    assert points(run, "loss") == [(10, 8.5), (20, 7.5), (30, 6.5)]
    assert not {"logging.py", "Rank", "log_dist"} & set(run.tags())


# ---- a header, metrics below it


def test_metrics_on_the_lines_below_a_header_take_its_count(tmp_path):
    text = "Namespace(batch_size=32, max_epoch=50)\n"
    for epoch in range(3):
        text += f"**** EPOCH 00{epoch} ****\n----0-----\nmean loss: {3 - epoch}.5\naccuracy: 0.{epoch}5\n"
        text += "eval mean loss: 4.25\n"
    run = read(tmp_path, text)
    assert found(run) == {
        "mean_loss": [(0, 3.5), (1, 2.5), (2, 1.5)],
        "accuracy": [(0, 0.05), (1, 0.15), (2, 0.25)],
        "eval_mean_loss": [(0, 4.25), (1, 4.25), (2, 4.25)],
    }


def test_batches_below_the_line_of_their_epoch_are_on_one_clock(tmp_path):
    text = ""
    for epoch in (1, 2, 3):
        text += f"==> Epoch {epoch}/800\n" + "".join(f"Batch {b}/78\t Loss {9 - epoch}.5 (1.0)\n" for b in (20, 40, 60))
    run = read(tmp_path, text)
    assert run.axis.kind == "epoch x iteration"
    assert [step for step, _ in points(run, "Loss")] == [20, 40, 60, 98, 118, 138, 176, 196, 216]


def test_coqui_prints_the_global_step_above_its_losses(tmp_path):
    text = ""
    for step in (25, 50, 75):
        text += f"\x1b[1m   --> STEP: {step % 30}/36 -- GLOBAL_STEP: {1000 + step}\x1b[0m\n"
        text += f"     | > loss_disc: {step}.5  (3.0)\n     | > amp_scaler: 512.5  (1.0)\n"
    run = read(tmp_path, text)
    assert points(run, "loss_disc") == [(1025, 25.5), (1050, 50.5), (1075, 75.5)]


def test_nanogpts_evaluations_have_the_step_that_they_name(tmp_path):
    lines = [f"iter {i}: loss {5 - i / 100:.2f}, time 5.5ms, mfu 0.01%\n" for i in range(0, 60, 5)]
    for at in (2, 1, 0):
        lines.insert(4 * at, f"step {20 * at}: train loss {at}.25, val loss {at}.5\n")
    run = read(tmp_path, "".join(lines))
    assert points(run, "val_loss") == [(0, 0.5), (20, 1.5), (40, 2.5)]
    assert points(run, "loss")[3:5] == [(15, 4.85), (20, 4.8)]


def test_lines_that_name_only_their_epoch_are_places_within_it(tmp_path):
    epoch = "".join(f"Epoch: {{e}}| train loss: 0.{{e}}{i}\n" for i in range(1, 6)) + "Epoch {e}: Val acc is 8{e}.5%\n"
    run = read(tmp_path, "".join(epoch.format(e=e) for e in (1, 2, 3)))
    assert points(run, "train_loss")[:6] == [(5, 0.11), (6, 0.12), (7, 0.13), (8, 0.14), (9, 0.15), (10, 0.21)]
    assert points(run, "Val_acc") == [(9, 81.5), (14, 82.5), (19, 83.5)]


@pytest.mark.parametrize("heading", ["testing in eval mode……", "Validation:", "=== Evaluating on the test set ==="])
def test_an_evaluation_is_announced_on_the_line_before_it(tmp_path, heading):
    line = "epoch: {e},  loss is: {loss}, acc is: 0.5\n"
    text = "".join(
        line.format(e=e, loss=9 - e) + f"{heading}\n" + line.format(e=e, loss=8 - e) + "saved\n" for e in range(4)
    )
    run = read(tmp_path, text)
    assert points(run, "loss") == [(e, 9.0 - e) for e in range(4)]
    assert points(run, "val/loss") == [(e, 8.0 - e) for e in range(4)]
    assert {"acc", "val/acc"} <= set(run.tags())


@pytest.mark.parametrize(
    "line", ["Evaluation done.", "Validation set has no labels", "Testing took a while", "Training"]
)
def test_other_lines_about_evaluations_announce_none(tmp_path, line):
    run = read(tmp_path, "".join(f"{line}\nepoch: {e}, loss is: {9 - e}\n" for e in range(4)))
    assert run.tags() == ["loss"]


def test_an_announced_evaluation_may_have_several_lines(tmp_path):
    text = "".join(
        f"step {i}: loss {9 - i}\nValidation\nloss: {8 - i}\nacc: 0.{i}\nstep {i}: lr 0.1 loss {9 - i}\n"
        for i in range(9)
    )
    run = read(tmp_path, text)
    assert points(run, "val/loss") == [(i, 8.0 - i) for i in range(9)]
    assert points(run, "val/acc") == [(i, i / 10) for i in range(9)]


def test_numbers_without_names_are_named_by_units_that_say_what_they_are(tmp_path):
    line = "Step {s}/999; acc: {s}.5; lr: 1.00000; {s}70/{s}04 tok/s;      {s} sec\n"
    run = read(tmp_path, "".join(line.format(s=s) for s in range(50, 100, 10)))
    assert found(run) | {"acc": []} == {
        "acc": [],
        "lr": [(s, 1.0) for s in range(50, 100, 10)],
        "src_tok/s": [(s, 100.0 * s + 70) for s in range(50, 100, 10)],
        "tgt_tok/s": [(s, 100.0 * s + 4) for s in range(50, 100, 10)],
        "time": [(s, float(s)) for s in range(50, 100, 10)],
    }


def test_a_loss_in_another_unit_is_in_brackets(tmp_path):
    line = "Epoch {e}/9 | train: {e}90.5 (2.{e} bpd) | val: {e}78.25 (1.{e} bpd) (best) | time 3.5 (3.25 s)\n"
    run = read(tmp_path, "".join(line.format(e=e) for e in range(1, 4)))
    assert found(run) == {
        "train": [(e, 100 * e + 90.5) for e in range(1, 4)],
        "train/bpd": [(e, 2 + e / 10) for e in range(1, 4)],
        "val": [(e, 100 * e + 78.25) for e in range(1, 4)],
        "val/bpd": [(e, 1 + e / 10) for e in range(1, 4)],
        "time": [(e, 3.5) for e in range(1, 4)],
    }


def test_a_network_named_before_a_loss_is_part_of_its_name(tmp_path):
    line = "Epoch: {e} Discriminator: real loss: 0.{e} fake loss: 0.5 GAN loss: 0.25 Generator: loss: 1.5\n"
    run = read(tmp_path, "".join(line.format(e=e) for e in range(1, 4)))
    assert sorted(run.tags()) == ["Discriminator/fake_loss", "Discriminator/real_loss", "GAN_loss", "Generator/loss"]


# ---- what is not a metric


@pytest.mark.parametrize(
    "line",
    [
        "Model is improving ppl: inf --> 5.{i}",
        "Epoch {i}: val_accuracy improved from None to 0.6{i}, saving model to best.keras",
        "number of examples: 177{i}",
        "train: weights=a.pt, cfg=, epochs=15, batch_size=16, rect=False, evolve=None, optimizer=SGD, patience=10{i}",
    ],
)
def test_words_about_metrics_amounts_of_data_and_lists_of_settings_are_not_metrics(tmp_path, line):
    text = "".join(f"{line.format(i=i)}\nepoch {i}: loss {99 - i}.5\n" for i in range(1, 30))
    assert found(read(tmp_path, text)) == {"loss": [(i, 99.5 - i) for i in range(1, 30)]}


def test_settings_layers_and_source_lines_are_not_metrics(tmp_path):
    text = "learning rate: 0.1\nseed: 5\nstep 50\n(conv1): Conv2d(3, 64, kernel_size=7, eps=1e-05)\n" * 3
    text += "".join(f"app.py:{50 + i} main:train:58 - step {i}: loss {9 - i}.5\nsaved at step {i}\n" for i in range(5))
    run = read(tmp_path, text)
    assert run.tags() == ["loss"]
    assert points(run, "loss") == [(i, 9.5 - i) for i in range(5)]


# ---- several trainings in a file


def test_trainings_appended_to_one_file_are_runs_of_their_own(tmp_path):
    lines = [f"epoch {e} loss: {9 - e}.5\n" for e in range(4)]
    runs = runs_of_other_formats(written(tmp_path / "train.log", "".join(lines + lines[:3])))
    assert list(runs) == ["train.log", "train.log/part 2"]
    assert points(runs["train.log"], "loss") == [(e, 9.5 - e) for e in range(4)]
    assert points(runs["train.log/part 2"], "loss") == [(e, 9.5 - e) for e in range(3)]
    assert "holds 2 trainings" in runs["train.log"].notes()[0].what


def test_a_resume_marks_what_was_logged_again(tmp_path):
    steps = [0, 10, 20, 30, 40, 20, 30, 40, 50]
    run = read(tmp_path, "".join(f"step {s}: loss {i}.5\n" for i, s in enumerate(steps)))
    assert [step for step, _ in points(run, "loss")] == [0, 10, 20, 30, 40, 50]
    assert run.series("loss", orphans=True).orphaned.tolist() == [False] * 2 + [True] * 3 + [False] * 4
    (restart,) = run.restarts()
    assert restart.step == 20
    assert levels(run) == ["info"]
    (stats,) = run.stats()
    assert stats.count == 6


# ---- tables


def test_boxed_tables_are_rows(tmp_path):
    block = (
        "-----------------------------\n| rollout/           |      |\n|    ep_rew_mean     | {r} |\n"
        "| time/              |      |\n|    fps             | 2012 |\n|    total_timesteps | {t} |\n"
        "-----------------------------\n"
    )
    text = "Using cpu device\n" + "".join(block.format(r=f"{i}.5", t=2048 * i) for i in (1, 2))
    run = read(tmp_path, text)
    assert run.format == "boxed-tables"
    assert found(run) == {
        "rollout/ep_rew_mean": [(2048, 1.5), (4096, 2.5)],
        "time/fps": [(2048, 2012.0), (4096, 2012.0)],
    }


def test_spacys_table_is_read(tmp_path):
    text = (
        "ℹ Pipeline: ['tok2vec', 'ner']\nE    #       LOSS TOK2VEC  LOSS NER  ENTS_F  SCORE \n"
        "---  ------  ------------  --------  ------  ------\n"
        "  0       0          0.00     43.90    0.00    0.00\n  1     200        100.50    250.25   55.50    0.56\n"
    )
    run = read(tmp_path, text)
    assert points(run, "LOSS NER") == [(0, 43.9), (200, 250.25)]
    assert points(run, "SCORE") == [(0, 0.0), (200, 0.56)]


def test_build_nanogpt_logs_a_name_between_step_and_value(tmp_path):
    run = read(
        tmp_path, "0 val 10.9511\n0 hella 0.2463\n0 train 10.955029\n1 train 10.6\n250 val 6.5\n", name="log.txt"
    )
    assert points(run, "val/loss") == [(0, 10.9511), (250, 6.5)]
    assert points(run, "train/loss") == [(0, 10.955029), (1, 10.6)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5.5\n4.5\n3.5\n2.5\n1.5\n", [(0, 5.5), (1, 4.5), (2, 3.5), (3, 2.5), (4, 1.5)]),
        ("0 5.5\n10 4.5\n20 3.5\n30 2.5\n40 1.5\n", [(0, 5.5), (10, 4.5), (20, 3.5), (30, 2.5), (40, 1.5)]),
        ("0,5.5\n10,4.5\n20,3.5\n30,2.5\n40,nan\n", [(0, 5.5), (10, 4.5), (20, 3.5), (30, 2.5), (40, "nan")]),
    ],
)
def test_bare_numbers_are_named_after_their_file(tmp_path, text, expected):
    written(tmp_path / "train_loss.txt", text)
    written(tmp_path / "numbers.txt", text)
    runs = runs_of_other_formats(tmp_path)
    assert list(runs) == ["train_loss.txt"]
    assert points(runs["train_loss.txt"], "train_loss") == expected
