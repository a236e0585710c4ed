"""The model that Lightning brings for bug reports, `BoringModel`, trained for six epochs."""

import lightning
from lightning.pytorch.demos.boring_classes import BoringModel

lightning.Trainer(
    max_epochs=6,
    log_every_n_steps=1,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_model_summary=False,
).fit(BoringModel())
