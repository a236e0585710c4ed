"""A small CNN in Lightning, logged by its CSVLogger."""

import warnings

from zoo.foreign import toy_data
from zoo.foreign.base import Base, Crash, Training, main
from zoo.foreign.toy_models import freeze, one_thread, scale_weights, small_cnn
from zoo.foreign.truth import fault, harmless

CLASSES, SIZE = 8, 12


def preload() -> None:
    """Import the framework."""
    import lightning  # noqa: F401
    from lightning.pytorch.loggers import CSVLogger  # noqa: F401


def train(training: Training) -> None:
    """Train with the settings."""
    import lightning as pl
    import torch
    from lightning.pytorch.callbacks import LearningRateMonitor
    from lightning.pytorch.loggers import CSVLogger
    from torch.nn import functional as F
    from torch.utils.data import DataLoader, TensorDataset

    warnings.filterwarnings("ignore")
    one_thread(training.seed)
    s = training.settings
    data = toy_data.images(
        s.n_train, 400, classes=CLASSES, size=SIZE, noise=1.5, seed=training.seed, shuffle_labels=s.shuffle_labels
    )
    steps = s.epochs * -(-s.n_train // s.batch)
    onset = training.onset(steps) if s.nan or s.shift or s.crash or s.restart else steps + 1

    if s.early:
        training.onset(steps, share=0.25)

    class Classifier(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = small_cnn(SIZE, CLASSES)
            scale_weights(self.model, s.init)
            if s.frozen:
                freeze(self.model.backbone)

        def training_step(self, batch, index):
            x, y = batch
            if s.crash and self.global_step >= onset:
                raise Crash("CUDA error: an illegal memory access was encountered")
            if s.nan and self.global_step == onset:
                x = x * float("nan")
            if s.shift and self.global_step >= onset:
                x = -x.flip(-1)
            loss = F.cross_entropy(self.model(x), y)
            self.log("train_loss", loss, on_step=True, on_epoch=True)
            return loss

        def validation_step(self, batch, index):
            x, y = batch
            scores = self.model(255 * (x + 3) / 6 if s.eval_raw else x)
            self.log("val_loss", F.cross_entropy(scores, y))
            self.log("val_acc", (scores.argmax(-1) == y).float().mean())

        def configure_optimizers(self):
            optimizer = torch.optim.SGD(self.parameters(), lr=s.lr, momentum=0.9, weight_decay=s.weight_decay)
            horizon = steps // 4 if s.early else steps

            def factor(step):
                step = step % onset if s.restart else step
                return max(0.0, 1 - step / horizon) if not s.lr_zero else 0.0

            scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
            return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}

    def loader(x, y, *, shuffle):
        return DataLoader(TensorDataset(torch.as_tensor(x), torch.as_tensor(y)), s.batch, shuffle=shuffle)

    trainer = pl.Trainer(
        max_epochs=s.epochs,
        accelerator="cpu",
        devices=1,
        logger=CSVLogger(".", name="lightning_logs"),
        callbacks=[LearningRateMonitor(logging_interval="step")],
        log_every_n_steps=10,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )
    try:
        trainer.fit(
            Classifier(),
            loader(data.train_x, data.train_y, shuffle=True),
            loader(data.val_x, data.val_y, shuffle=False),
        )
    finally:
        trainer.logger.save()


BASE = Base(
    name="lightning_cnn",
    framework="Lightning",
    log="metrics.csv of CSVLogger",
    packages=("torch", "lightning"),
    settings={
        "lr": 0.01,
        "weight_decay": 2e-3,
        "epochs": 10,
        "batch": 32,
        "n_train": 1600,
        "shuffle_labels": False,
        "init": 1.0,
        "frozen": False,
        "nan": False,
        "shift": False,
        "crash": False,
        "restart": False,
        "early": False,
        "lr_zero": False,
        "eval_raw": False,
    },
    tiny={"n_train": 320, "epochs": 2},
    faults=(
        fault("lr-x100", "lr-high", lr=1.0),
        fault("lr-div-1000", "lr-low", lr=1e-5),
        fault("lr-zero", "lr-zero", lr_zero=True),
        fault("labels-shuffled", "labels", shuffle_labels=True),
        fault("tiny-data", "tiny-data", n_train=64, epochs=120),
        fault("weight-decay", "weight-decay", weight_decay=0.5),
        fault("nan-batch", "nan", nan=True),
        fault("data-shift", "shift", shift=True),
        fault("schedule-early", "schedule-early", early=True),
        fault("schedule-restart", "schedule-restart", restart=True),
        fault("eval-not-normalized", "val-preprocessing", eval_raw=True),
        harmless("crash", crash=True),
        harmless("frozen-backbone", frozen=True),
    ),
    train=train,
    preload=preload,
)

if __name__ == "__main__":
    main(BASE)
