"""Real trainings by Lightning's Trainer, under both names of the package."""

import importlib

import pytest
import torch

import pulseboard as pb

pytest.importorskip("lightning", reason="lightning is not installed")
from pulseboard.integrations.lightning import PulseboardLogger


def line(lightning):
    """A module that fits y = 2x, and remembers each loss it logs."""

    class Line(lightning.LightningModule):
        def __init__(self, *, rate=0.1, width=1):
            super().__init__()
            self.save_hyperparameters()
            self.layer = torch.nn.Linear(width, 1)
            self.losses = []

        def loss(self, batch):
            (x,) = batch
            return torch.nn.functional.mse_loss(self.layer(x), 2 * x)

        def training_step(self, batch, _):
            loss = self.loss(batch)
            self.losses.append(loss.item())
            self.log("train/loss", loss)
            return loss

        def validation_step(self, batch, _):
            self.log("val/loss", self.loss(batch))

        def test_step(self, batch, _):
            self.log("test/loss", self.loss(batch))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=self.hparams.rate)

    return Line()


def data():
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.linspace(0, 1, 16)[:, None]), batch_size=4)


def trainer(lightning, logger, **named):
    named = {"max_epochs": 2, "log_every_n_steps": 1, "enable_checkpointing": False, **named}
    return lightning.Trainer(
        logger=logger, accelerator="cpu", enable_progress_bar=False, enable_model_summary=False, **named
    )


@pytest.fixture(params=["lightning.pytorch", "pytorch_lightning"])
def lightning(request):
    return importlib.import_module(request.param)


pytestmark = [
    # Of Lightning itself: a name that torch has since renamed, and advice to use this machine's cores.
    pytest.mark.filterwarnings("ignore:.*treespec, LeafSpec.*is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:The '.*_dataloader' does not have many workers"),
]


def test_a_training_and_its_test_are_one_run(lightning, settings, recorded, told):
    module = line(lightning)
    logger = PulseboardLogger(config={"seed": 1}, **settings)
    training = trainer(lightning, logger)
    training.fit(module, data(), data())
    assert told()["status"] == "finished"
    training.test(module, data(), verbose=False)
    points = recorded()
    assert points["train/loss"] == [(step, pytest.approx(loss)) for step, loss in enumerate(module.losses)]
    assert [step for step, _ in points["val/loss"]] == [3, 7]
    assert [step for step, _ in points["test/loss"]] == [8]
    assert points["epoch"][0] == (0, 0.0)
    assert told()["status"] == "finished"
    assert told()["config"] == {"seed": 1, "rate": 0.1, "width": 1}


def test_checkpoints_go_to_the_directory_of_the_run(lightning, settings, tmp_path):
    logger = PulseboardLogger(run_id="mine", **settings)
    trainer(lightning, logger, max_epochs=1, enable_checkpointing=True).fit(line(lightning), data(), data())
    assert [path.name for path in (tmp_path / "runs" / "mine" / "checkpoints").iterdir()] == ["epoch=0-step=4.ckpt"]
    assert (logger.save_dir, logger.name, logger.version) == (str(tmp_path / "runs"), "", "mine")
    assert logger.log_dir == str(tmp_path / "runs" / "mine")


def test_a_training_that_fails_is_a_failed_run(lightning, settings, told):
    module = line(lightning)
    module.on_train_epoch_end = lambda: 1 / 0
    with pytest.raises(ZeroDivisionError):
        trainer(lightning, PulseboardLogger(**settings)).fit(module, data(), data())
    assert told()["status"] == "failed"


def test_a_run_that_is_given_stays_open(lightning, settings, recorded, told):
    with pb.init(**settings) as run:
        logger = PulseboardLogger(run=run)
        assert logger.experiment is run
        trainer(lightning, logger, max_epochs=1).fit(line(lightning), data(), data())
        assert told()["status"] == "running"
        run.log({"mine": 1.0}, step=4)
    assert set(recorded()) == {"train/loss", "val/loss", "epoch", "mine"}


@pytest.mark.filterwarnings("ignore:Checkpoint directory .* exists and is not empty")
def test_a_training_from_a_checkpoint_resumes_its_run(lightning, settings, recorded, tmp_path):
    trainer(lightning, PulseboardLogger(**settings), enable_checkpointing=True, max_epochs=1).fit(
        line(lightning), data(), data()
    )
    (checkpoint,) = (tmp_path / "runs").glob("*/checkpoints/*.ckpt")
    with pb.init(resume="latest", **settings) as run:  # what a job logs that dies after its checkpoint
        run.log({"train/loss": 99.0}, step=4)
    again = trainer(lightning, PulseboardLogger(resume="latest", **settings), enable_checkpointing=True)
    again.fit(line(lightning), data(), data(), ckpt_path=str(checkpoint))
    points = recorded()["train/loss"]
    assert [step for step, _ in points] == list(range(8))
    assert points[4][1] < 99


def test_a_run_and_settings_for_another_are_a_mistake(settings):
    with pb.init(**settings) as run, pytest.raises(ValueError, match="not both: got run= and strict"):
        PulseboardLogger(run=run, strict=True)


def test_other_ranks_make_no_run(lightning, settings, tmp_path, monkeypatch):
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
