"""Real trainings with Lightning's Trainer, under both names of the package."""

import importlib

import pytest
from integrations.small_trainings import lightning_module, lightning_trainer, loader

import pulseboard as pb
from pulseboard.integrations.lightning import PulseboardLogger


@pytest.fixture(params=["lightning.pytorch", "pytorch_lightning"])
def lightning(request):
    return importlib.import_module(request.param)


pytestmark = [
    # Warnings of Lightning itself: a name that torch has renamed, and advice on the number of workers.
    pytest.mark.filterwarnings("ignore:.*treespec, LeafSpec.*is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:The '.*_dataloader' does not have many workers"),
]


def test_a_training_and_its_test_are_one_run(lightning, settings, recorded, run_json):
    module = lightning_module(lightning)
    logger = PulseboardLogger(config={"seed": 1}, **settings)
    training = lightning_trainer(lightning, logger)
    training.fit(module, loader(), loader())
    assert run_json()["status"] == "finished"
    training.test(module, loader(), verbose=False)
    points = recorded()
    assert points["train/loss"] == [(step, pytest.approx(loss)) for step, loss in enumerate(module.losses)]
    assert [step for step, _ in points["val/loss"]] == [3, 7]
    assert [step for step, _ in points["test/loss"]] == [8]
    assert points["epoch"][0] == (0, 0.0)
    assert run_json()["status"] == "finished"
    assert run_json()["config"] == {"seed": 1, "rate": 0.1, "width": 1}
    (run,) = pb.read(settings["dir"]).values()
    assert run.hparams().values == {"rate": 0.1, "width": 1}


def test_checkpoints_go_to_the_directory_of_the_run(lightning, settings, tmp_path, run_json):
    logger = PulseboardLogger(run_id="mine", **settings)
    lightning_trainer(lightning, logger, max_epochs=1, enable_checkpointing=True).fit(
        lightning_module(lightning), loader(), loader()
    )
    assert [path.name for path in (tmp_path / "runs" / "mine" / "checkpoints").iterdir()] == ["epoch=0-step=4.ckpt"]
    assert (logger.save_dir, logger.name, logger.version) == (str(tmp_path / "runs"), "", "mine")
    assert logger.log_dir == str(tmp_path / "runs" / "mine")
    assert run_json()["status"] == "finished"


def test_a_training_that_fails_is_a_failed_run(lightning, settings, run_json):
    module = lightning_module(lightning)
    module.on_train_epoch_end = lambda: 1 / 0
    with pytest.raises(ZeroDivisionError):
        lightning_trainer(lightning, PulseboardLogger(**settings)).fit(module, loader(), loader())
    assert run_json()["status"] == "failed"


def test_a_run_passed_by_the_user_stays_open(lightning, settings, recorded, run_json):
    with pb.init(**settings) as run:
        logger = PulseboardLogger(run=run)
        assert logger.experiment is run
        lightning_trainer(lightning, logger, max_epochs=1).fit(lightning_module(lightning), loader(), loader())
        assert run_json()["status"] == "running"
        run.log({"mine": 1.0}, step=4)
    assert set(recorded()) == {"train/loss", "val/loss", "epoch", "mine"}


@pytest.mark.filterwarnings("ignore:Checkpoint directory .* exists and is not empty")
def test_a_training_from_a_checkpoint_resumes_its_run(lightning, settings, recorded, tmp_path):
    lightning_trainer(lightning, PulseboardLogger(**settings), enable_checkpointing=True, max_epochs=1).fit(
        lightning_module(lightning), loader(), loader()
    )
    (checkpoint,) = (tmp_path / "runs").glob("*/checkpoints/*.ckpt")
    with pb.init(resume="latest", **settings) as run:  # logged by a job that dies after its checkpoint
        run.log({"train/loss": 99.0}, step=4)
    again = lightning_trainer(lightning, PulseboardLogger(resume="latest", **settings), enable_checkpointing=True)
    again.fit(lightning_module(lightning), loader(), loader(), ckpt_path=str(checkpoint))
    points = recorded()["train/loss"]
    assert [step for step, _ in points] == list(range(8))
    assert points[4][1] < 99


def test_other_ranks_create_no_run(lightning, settings, tmp_path, monkeypatch):
    rank_zero = importlib.import_module(f"{lightning.__name__}.utilities.rank_zero")
    monkeypatch.setattr(rank_zero.rank_zero_only, "rank", 1)
    logger = PulseboardLogger(**settings)
    logger.log_hyperparams({"rate": 0.1})
    logger.log_metrics({"train/loss": 1.0}, step=0)
    logger.experiment.histogram("weights", [1.0])
    logger.save()
    logger.finalize("success")
    assert (logger.save_dir, logger.version) == (None, None)
    assert not (tmp_path / "runs").exists()
