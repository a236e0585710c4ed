"""Tables whose rows end in a progress bar, as YOLO prints them."""

from other_formats import only_run, points, runs_of_other_formats, written

HEADER = "      Epoch    GPU_mem   box_loss   obj_loss   cls_loss  Instances       Size\n"
SCORES = "                 Class     Images  Instances          P          R      mAP50   mAP50-95: {bar}\n"


def bar(percent):
    return f"{percent}%|███| {percent // 10}/10 [00:48<00:00,  4.89s/it]"


def epoch(i):
    begun = f"       {i}/3       2.1G    0.{i}9    0.025    0.5    7     320:  {bar(50)}\r"
    row = f"       {i}/3       2.1G    0.{i}5    0.02{i}    0.4    3     320: {bar(100)}\n"
    scores = f"                   all        289        289      0.{i}1      0.32     0.{i}6     0.03{i}\n"
    return f"\n{HEADER}{begun}{row}{SCORES.format(bar=bar(100))}{scores}"


PREAMBLE = (
    "train: weights=yolov5s.pt, cfg=, epochs=4, batch_size=16, imgsz=320, rect=False, cache=None, freeze=[0, 1], "
    "seed=-1\n"
    "hyperparameters: lr0=0.01, momentum=0.937\n"
    "  0                -1  1      3520  models.common.Conv                      [3, 32, 6, 2, 2]\n"
)
FINISHED = (
    "\n4 epochs completed in 0.2 hours.\nValidating runs/best.pt...\n" + SCORES.format(bar=bar(100))
    + "                   all        289        289      0.99      0.99      0.99      0.99\n"
    + "                person         89         12       0.5       0.5       0.5       0.5\n"
)  # fmt: skip


def test_each_epoch_is_a_row_with_the_results_of_its_validation(tmp_path):
    run = only_run(written(tmp_path / "train.log", PREAMBLE + "".join(map(epoch, range(4))) + FINISHED))
    assert (run.format, run.axis.kind) == ("progress-tables", "epoch")
    assert {tag: points(run, tag)[1:3] for tag in run.tags()} == {
        "train/GPU_mem": [(1, 2.1e9), (2, 2.1e9)],
        "train/box_loss": [(1, 0.15), (2, 0.25)],
        "train/obj_loss": [(1, 0.021), (2, 0.022)],
        "train/cls_loss": [(1, 0.4), (2, 0.4)],
        "val/precision": [(1, 0.11), (2, 0.21)],
        "val/recall": [(1, 0.32), (2, 0.32)],
        "val/mAP50": [(1, 0.16), (2, 0.26)],
        "val/mAP50-95": [(1, 0.031), (2, 0.032)],
    }
    assert points(run, "val/mAP50")[-1] == (3, 0.36)  # not that of the best weights


def test_lists_of_settings_are_the_configuration(tmp_path):
    config = only_run(written(tmp_path / "train.log", PREAMBLE + epoch(0) + epoch(1))).config()
    assert config == {
        "weights": "yolov5s.pt", "cfg": "", "epochs": 4, "batch_size": 16, "imgsz": 320, "rect": False, "cache": None,
        "freeze": "[0, 1]", "seed": -1, "lr0": 0.01, "momentum": 0.937,
    }  # fmt: skip


def test_an_epoch_that_has_not_ended_is_left_out(tmp_path):
    unfinished = epoch(2).partition("\r")[0]
    run = only_run(written(tmp_path / "train.log", epoch(0) + epoch(1) + unfinished + "\n"))
    assert points(run, "train/box_loss") == [(0, 0.05), (1, 0.15)]


def test_scores_in_groups_have_the_names_of_their_groups(tmp_path):
    header = (
        "  Class  Images  Instances  Box(P  R  mAP50  mAP50-95)  Mask(P  R  mAP50  mAP50-95): 100%|██| 3/3 [00:01]\n"
    )
    text = "\n".join(
        "  Epoch  GPU_mem  box_loss  seg_loss  Instances  Size\n"
        f"  {i}/2  0G  1.5  2.5  9  640: 100% ━━━ 9/9 1.2s\n{header}"
        f"  all  9  9  0.1  0.2  0.3  0.4  0.5  0.6  0.7  0.{i}\n"
        for i in (1, 2)
    )
    run = only_run(written(tmp_path / "train.log", text))
    assert points(run, "val/box/recall") == [(1, 0.2), (2, 0.2)]
    assert points(run, "val/mask/mAP50-95") == [(1, 0.1), (2, 0.2)]


def test_other_progress_bars_are_not_such_tables(tmp_path):
    text = "Epoch GPU_mem box_loss obj_loss\n" + "".join(
        f"Epoch {i}: loss 0.{i} 50%|█| 5/10 [00:01]\n" for i in range(1, 9)
    )
    written(tmp_path / "train.log", text)
    assert all(run.format != "progress-tables" for run in runs_of_other_formats(tmp_path).values())
