"""TensorBoard scalars at an interval of steps, under names that scripts use."""

from pathlib import Path

import numpy as np

from zoo.small.record import Record
from zoo.small.style import Style, interval_of

BEGAN = 1_700_000_000.0
SCHEMES = (
    ("train/{}", "val/{}", "{}"),
    ("{}/train", "{}/val", "charts/{}"),
    ("Train/{}", "Test/{}", "Train/{}"),
    ("training_{}", "validation_{}", "{}"),
    ("{}", "eval_{}", "{}"),
)
OWN = {
    "lr": ("learning_rate", "lr", "LR"),
    "grad_norm": ("grad_norm", "gradient_norm", "total_norm"),
    "step_secs": ("step_time", "time_per_step", "batch_time"),
    "memory_mb": ("memory_mb", "mem_rss_mb", "gpu_mem_mb"),
    "acc": ("accuracy", "acc", "Accuracy"),
    "return": ("episode_return", "ep_rew_mean", "reward"),
    "length": ("episode_length", "ep_len_mean", "length"),
    "d_loss": ("d_loss", "loss_D", "errD"),
    "g_loss": ("g_loss", "loss_G", "errG"),
    "kl": ("kl", "kld", "KLD"),
    "recon": ("recon_loss", "reconstruction", "BCE"),
    "map": ("mAP50", "mAP", "AP50"),
}
PLAIN = ("lr", "step_secs", "memory_mb", "grad_norm", "epsilon")


def namer(rng: np.random.Generator):
    """A function from our names to those of one script."""
    train, val, other = SCHEMES[int(rng.integers(len(SCHEMES)))]
    variant = int(rng.integers(3))

    def name(key: str) -> str:
        bare = key.removeprefix("val_")
        word = OWN.get(bare, (bare, bare, bare))[variant]
        return (val if key.startswith("val_") else other if bare in PLAIN else train).format(word)

    return name


def write(record: Record, directory: Path, rng: np.random.Generator) -> None:
    """Write the event file."""
    from torch.utils.tensorboard import SummaryWriter

    name, rows = namer(rng), record.every(interval_of(record, rng), mean=bool(rng.random() < 0.5))
    with SummaryWriter(str(directory)) as writer:
        for row in sorted([*rows, *record.val], key=lambda row: row.step):
            for key, value in row.values.items():
                writer.add_scalar(name(key), value, row.step, walltime=BEGAN + row.time)


STYLE = Style("tb_steps", write)
