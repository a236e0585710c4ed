"""The smallest real training of each framework. Each function imports its own framework."""

import torch


def rows():
    """Data for a language model."""
    return [{"input_ids": [i % 16] * 4, "labels": [i % 16] * 4} for i in range(16)]


def loader():
    """Four batches of x between 0 and 1, each with its feature axis."""
    data = torch.utils.data.TensorDataset(torch.linspace(0, 1, 16)[:, None])
    return torch.utils.data.DataLoader(data, batch_size=4)


# ---- Lightning; `lightning` is the package under either of its names


def lightning_module(lightning):
    """Fits y = 2x, and keeps each loss it logs."""

    class Line(lightning.LightningModule):
        def __init__(self, *, rate=0.1, width=1):
            super().__init__()
            self.save_hyperparameters()
            self.layer = torch.nn.Linear(width, 1)
            self.losses = []

        def loss(self, batch):
            (x,) = batch
            return torch.nn.functional.mse_loss(self.layer(x), 2 * x)

        def training_step(self, batch, batch_idx):
            loss = self.loss(batch)
            self.losses.append(loss.item())
            self.log("train/loss", loss)
            return loss

        def validation_step(self, batch, batch_idx):
            self.log("val/loss", self.loss(batch))

        def test_step(self, batch, batch_idx):
            self.log("test/loss", self.loss(batch))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=self.hparams.rate)

    return Line()


def lightning_trainer(lightning, logger, **named):
    named = {"max_epochs": 2, "log_every_n_steps": 1, "enable_checkpointing": False, **named}
    return lightning.Trainer(
        logger=logger, accelerator="cpu", enable_progress_bar=False, enable_model_summary=False, **named
    )


# ---- transformers


def language_model():
    import transformers

    torch.manual_seed(0)
    sizes = {"n_layer": 1, "n_head": 1, "n_embd": 8, "vocab_size": 16, "n_positions": 8}
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(bos_token_id=0, eos_token_id=0, **sizes))


def transformers_trainer(callback, **named):
    """Six steps, each logged."""
    import transformers

    named = {"output_dir": "out", "max_steps": 6, "logging_steps": 1, "save_strategy": "no", **named}
    return transformers.Trainer(
        model=language_model(),
        args=transformers.TrainingArguments(
            per_device_train_batch_size=4, use_cpu=True, report_to="none", disable_tqdm=True, **named
        ),
        train_dataset=rows(),
        eval_dataset=rows()[:4],
        callbacks=[callback],
    )


# ---- Keras


def keras_model():
    """Fits a line; its learning rate is halved after the fourth step."""
    import keras

    keras.utils.set_random_seed(0)
    line = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)], name="line")
    schedule = keras.optimizers.schedules.PiecewiseConstantDecay([4], [0.5, 0.25])
    line.compile(optimizer=keras.optimizers.SGD(schedule), loss="mse", metrics=["mae"])
    return line


# ---- accelerate


def train_with_accelerate(tracker, **config):
    """Fits y = 2x in five steps, and returns the losses it logged."""
    import accelerate

    accelerator = accelerate.Accelerator(cpu=True, log_with=tracker)
    accelerator.init_trackers("line", config=config)
    layer = torch.nn.Linear(1, 1)
    # The layer is not prepared, because that makes it a DDP module in several processes: torch 2.13 can hang when one
    # is freed after `end_training` has destroyed the process group (its Reducer joins gloo's thread and holds the GIL).
    optimizer = accelerator.prepare(torch.optim.SGD(layer.parameters(), lr=0.1))
    x = torch.linspace(0, 1, 8)[:, None]
    losses = []
    for step in range(5):
        loss = torch.nn.functional.mse_loss(layer(x), 2 * x)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        accelerator.log({"train/loss": loss, "train/rate": 0.1}, step=step)
        losses.append(loss.item())
    accelerator.end_training()
    return losses
