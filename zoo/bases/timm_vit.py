"""A small vision transformer, logged as timm's train.py does: summary.csv and args.yaml."""

import csv
import math

from zoo.foreign import toy_data
from zoo.foreign.base import Base, Crash, Training, main
from zoo.foreign.toy_models import freeze, one_thread
from zoo.foreign.truth import fault

CLASSES, SIZE, PATCH, WIDTH = 8, 12, 3, 32


def vision_transformer():
    """A transformer over patches; `backbone` is all but the last layer."""
    import torch
    from torch import nn

    class VisionTransformer(nn.Module):
        def __init__(self):
            super().__init__()
            tokens = (SIZE // PATCH) ** 2
            layer = nn.TransformerEncoderLayer(WIDTH, 2, 2 * WIDTH, 0.0, "gelu", batch_first=True, norm_first=True)
            self.patches = nn.Conv2d(1, WIDTH, PATCH, PATCH)
            self.positions = nn.Parameter(0.02 * torch.randn(1, tokens, WIDTH))
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.norm = nn.LayerNorm(WIDTH)
            self.head = nn.Linear(WIDTH, CLASSES)

        def forward(self, x):
            x = self.patches(x).flatten(2).transpose(1, 2) + self.positions
            return self.head(self.norm(self.encoder(x)).mean(1))

    return VisionTransformer()


def train(training: Training) -> None:
    """Train with the settings."""
    import torch
    import yaml
    from torch.nn import functional as F

    one_thread(training.seed)
    s = training.settings
    data = toy_data.images(
        s.n_train, 400, classes=CLASSES, size=SIZE, noise=1.0, seed=training.seed, shuffle_labels=s.shuffle_labels
    )
    x, y, val_x, val_y = map(torch.as_tensor, (data.train_x, data.train_y, data.val_x, data.val_y))
    val_x = val_x.transpose(-1, -2).flip(-1) * 3 if s.eval_other else val_x
    onset = training.onset(s.epochs) if s.nan or s.crash or s.shift or s.restart else s.epochs
    if s.early:
        training.onset(s.epochs, share=0.25)
    with open("args.yaml", "w", encoding="utf-8") as stream:
        yaml.safe_dump(arguments(training), stream, default_flow_style=False)
    model = vision_transformer()
    if s.frozen:
        for part in (model.patches, model.encoder):
            freeze(part)
    optimizer = torch.optim.AdamW(model.parameters(), lr=s.lr, weight_decay=s.weight_decay)
    for epoch in range(s.epochs):
        at = epoch % onset if s.restart else epoch
        lr = s.lr * learning_rate_factor(at, s.epochs // 4 if s.early else s.epochs, warmup=s.warmup)
        for group in optimizer.param_groups:
            group["lr"] = lr
        losses = []
        model.train()
        for rows in torch.randperm(len(y)).split(s.batch):
            inputs = x[rows]
            if s.nan and epoch == onset and not losses:
                inputs = inputs * float("nan")
            if s.shift and epoch >= onset:
                inputs = -inputs.flip(-1)
            if s.crash and epoch == onset and len(losses) == 5:
                raise Crash("DataLoader worker (pid 88) exited unexpectedly")
            inputs = augmented(inputs) if s.augment else inputs
            loss = F.cross_entropy(model(inputs), y[rows], label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item() * len(rows))
        update_summary(epoch, sum(losses) / len(y), evaluate(model, val_x, val_y), lr, write_header=epoch == 0)


def augmented(x):
    """The images, moved by a pixel or two and with more noise."""
    import torch

    shifts = [int(shift) for shift in torch.randint(-2, 3, (2,))]
    return torch.roll(x, shifts, (2, 3)) + 0.5 * torch.randn_like(x)


def learning_rate_factor(epoch: int, epochs: int, *, warmup: int) -> float:
    """Linear warm-up and a cosine."""
    if epoch < warmup:
        return (epoch + 1) / (warmup + 1)
    return 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, epoch / epochs)))


def evaluate(model, x, y) -> dict[str, float]:
    """Loss and accuracies in percent, as timm names them."""
    import torch
    from torch.nn import functional as F

    model.eval()
    with torch.no_grad():
        scores = model(x)
    top = scores.topk(5, -1).indices == y[:, None]
    return {
        "loss": F.cross_entropy(scores, y).item(),
        "top1": 100 * top[:, :1].any(-1).float().mean().item(),
        "top5": 100 * top.any(-1).float().mean().item(),
    }


def update_summary(
    epoch: int, train_loss: float, evaluated: dict[str, float], lr: float, *, write_header: bool
) -> None:
    """Append a row to summary.csv, as timm.utils.update_summary does."""
    row = {"epoch": epoch, "train_loss": train_loss}
    row.update((f"eval_{key}", value) for key, value in evaluated.items())
    row["lr"] = lr
    with open("summary.csv", "a", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, fieldnames=row.keys())
        if write_header:
            writer.writeheader()
        writer.writerow(row)


def arguments(training: Training) -> dict:
    """Some of the arguments that timm's train.py saves."""
    s = training.settings
    return {
        "aa": None,
        "batch_size": s.batch,
        "clip_grad": 1.0,
        "drop": 0.0,
        "epochs": s.epochs,
        "lr": s.lr,
        "min_lr": 0.01 * s.lr,
        "model": "vit_tiny_patch3_12",
        "num_classes": CLASSES,
        "opt": "adamw",
        "sched": "cosine",
        "seed": training.seed,
        "smoothing": 0.1,
        "warmup_epochs": s.warmup,
        "weight_decay": s.weight_decay,
    }


BASE = Base(
    name="timm_vit",
    framework="timm's train.py",
    log="summary.csv and args.yaml",
    packages=("torch", "yaml"),
    settings={
        "lr": 3e-3,
        "weight_decay": 0.05,
        "warmup": 3,
        "epochs": 18,
        "batch": 64,
        "n_train": 768,
        "shuffle_labels": False,
        "frozen": False,
        "augment": True,
        "nan": False,
        "shift": False,
        "crash": False,
        "restart": False,
        "early": False,
        "eval_other": False,
    },
    tiny={"n_train": 128, "epochs": 4, "warmup": 1},
    faults=(
        fault("lr-x100", "lr-high", lr=0.3),
        fault("lr-div-1000", "lr-low", lr=3e-6),
        fault("labels-shuffled", "labels", shuffle_labels=True),
        fault("tiny-data", "tiny-data", n_train=48, epochs=80, augment=False),
        fault("weight-decay", "weight-decay", weight_decay=100.0),
        fault("frozen-backbone", "frozen", frozen=True),
        fault("nan-batch", "nan", nan=True),
        fault("data-shift", "shift", shift=True),
        fault("schedule-early", "schedule-early", early=True),
        fault("schedule-restart", "schedule-restart", restart=True),
        fault("eval-transform", "val-preprocessing", eval_other=True),
        fault("crash", "crash", crash=True),
    ),
    train=train,
)

if __name__ == "__main__":
    main(BASE)
