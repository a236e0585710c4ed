"""A regression by a multilayer perceptron in Lightning, logged by its TensorBoardLogger."""

import warnings

import numpy as np

from zoo.foreign.base import Base, Training, main
from zoo.foreign.toy_models import one_thread, scale_weights
from zoo.foreign.truth import fault

FEATURES = 10


def preload() -> None:
    """Import the framework."""
    import lightning  # noqa: F401
    from lightning.pytorch.loggers import TensorBoardLogger  # noqa: F401
    from torch.utils import tensorboard  # noqa: F401


def rows(n, *, seed, offset=0.0):
    """Inputs and a target that is a smooth function of them, with noise."""
    task = np.random.default_rng(3)
    a, b = task.normal(0, 0.6, (FEATURES, 4)), task.normal(0, 1, 4)
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 1, (n, FEATURES))
    y = np.sin(x @ a) @ b + 0.5 * x[:, 0] * x[:, 1] + 0.3 * rng.normal(0, 1, n) + offset
    return x.astype(np.float32), y.astype(np.float32)[:, None]


def train(training: Training) -> None:
    """Train with the settings."""
    import lightning as pl
    import torch
    from lightning.pytorch.loggers import TensorBoardLogger
    from torch import nn
    from torch.nn import functional as F
    from torch.utils.data import DataLoader, TensorDataset

    warnings.filterwarnings("ignore")
    one_thread(training.seed)
    s = training.settings
    x, y = rows(s.n_train, seed=training.seed)
    if s.shuffle_targets:
        y = np.random.default_rng(0).permutation(y)
    if s.outlier_targets:
        y[np.random.default_rng(0).random(len(y)) < 0.01] *= 1000
    steps = s.epochs * -(-s.n_train // s.batch)
    onset = training.onset(steps) if s.nan or s.shift or s.lr_jump else steps + 1

    class Regressor(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
            scale_weights(self.net, s.init)
            self.first = [p.detach().clone() for p in self.parameters()] if s.eval_first_weights else None

        def training_step(self, batch, index):
            x, y = batch
            if s.nan and self.global_step == onset:
                y = y * float("nan")
            if s.shift and self.global_step >= onset:
                y = y * 1.5 + 3
            loss = F.mse_loss(self.net(x * s.scale), y)
            self.log("train/mse", loss)
            return loss

        def validation_step(self, batch, index):
            x, y = batch
            prediction = self._predict(x * (1 if s.eval_unscaled else s.scale))
            self.log("val/mse", F.mse_loss(prediction, y))
            self.log("val/mae", F.l1_loss(prediction, y))

        def _predict(self, x):
            if self.first is None:
                return self.net(x)
            names = [name.removeprefix("net.") for name, _ in self.named_parameters()]
            return torch.func.functional_call(self.net, dict(zip(names, self.first, strict=True)), x)

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=s.lr, weight_decay=s.weight_decay)

        def on_train_batch_start(self, batch, index):
            if s.lr_jump and self.global_step == onset:
                for group in self.optimizers().param_groups:
                    group["lr"] = 100 * s.lr

        def optimizer_step(self, epoch, index, optimizer, closure):
            if s.stepping:
                super().optimizer_step(epoch, index, optimizer, closure)
            else:
                # The step goes to an optimizer of other parameters.
                learning_rates = [group["lr"] for group in optimizer.param_groups]
                for group in optimizer.param_groups:
                    group["lr"] = 0.0
                super().optimizer_step(epoch, index, optimizer, closure)
                for group, lr in zip(optimizer.param_groups, learning_rates, strict=True):
                    group["lr"] = lr

    def loader(x, y, *, shuffle):
        return DataLoader(TensorDataset(torch.as_tensor(x), torch.as_tensor(y)), s.batch, shuffle=shuffle)

    trainer = pl.Trainer(
        max_epochs=s.epochs,
        accelerator="cpu",
        devices=1,
        logger=TensorBoardLogger(".", name="lightning_logs"),
        log_every_n_steps=5,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )
    val_x, val_y = rows(512, seed=1000 + training.seed)
    trainer.fit(Regressor(), loader(x, y, shuffle=True), loader(val_x, val_y, shuffle=False))
    trainer.logger.finalize("success")


BASE = Base(
    name="lightning_regression",
    framework="Lightning",
    log="TensorBoard event files and hparams.yaml of TensorBoardLogger",
    packages=("torch", "lightning", "tensorboard"),
    settings={
        "lr": 2e-3,
        "weight_decay": 0.01,
        "epochs": 20,
        "batch": 128,
        "n_train": 2048,
        "shuffle_targets": False,
        "outlier_targets": False,
        "init": 1.0,
        "scale": 1.0,
        "eval_unscaled": False,
        "eval_first_weights": False,
        "stepping": True,
        "nan": False,
        "shift": False,
        "lr_jump": False,
    },
    tiny={"n_train": 320, "epochs": 3},
    faults=(
        fault("lr-x1000", "lr-high", lr=2.0),
        fault("lr-div-1000", "lr-low", lr=2e-6),
        fault("not-stepping", "not-stepping", stepping=False),
        fault("targets-shuffled", "labels", shuffle_targets=True),
        fault("tiny-data", "tiny-data", n_train=64, epochs=250),
        fault("bad-init", "bad-init", init=8.0, also=("overfitting",)),
        fault("nan-batch", "nan", nan=True),
        fault("target-shift", "shift", shift=True),
        fault("lr-jump", "lr-high", lr_jump=True, causes=("lr-too-high", "scheduler-bug", "no-warmup")),
        fault("eval-not-scaled", "val-preprocessing", scale=0.1, eval_unscaled=True),
        fault("eval-frozen", "eval-frozen", eval_first_weights=True),
        fault(
            "outliers",
            "lr-high",
            outlier_targets=True,
            also=("batch-outlier", "val-below-train", "overfitting"),
            causes=("bad-batch", "label-noise"),
        ),
    ),
    train=train,
    preload=preload,
)

if __name__ == "__main__":
    main(BASE)
