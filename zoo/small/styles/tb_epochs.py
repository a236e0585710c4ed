"""TensorBoard scalars once per epoch."""

from pathlib import Path

import numpy as np

from zoo.small.record import Record
from zoo.small.style import Style
from zoo.small.styles.tb_steps import BEGAN, namer


def write(record: Record, directory: Path, rng: np.random.Generator) -> None:
    """Write the event file."""
    from torch.utils.tensorboard import SummaryWriter

    name = namer(rng)
    with SummaryWriter(str(directory)) as writer:
        for row, val in record.by_epoch():
            for key, value in {**row.values, **(val.values if val else {})}.items():
                writer.add_scalar(name(key), value, row.epoch, walltime=BEGAN + row.time)


STYLE = Style("tb_epochs", write, by_epoch=True)
