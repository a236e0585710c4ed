"""Train a plain convolutional network to classify ten shapes, with the usual logging.

python trainers/classifier.py                                       # a minute on one core
python trainers/classifier.py --optimizer sgd --learning-rate 0.1
python trainers/classifier.py --images pictures/ --size 64 --width 64 --batch-size 256 --steps 20000
python trainers/classifier.py --fault label-noise                   # broken on purpose; see zoo/faults/
"""

import argparse
import math
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

import pulseboard as pb

sys.path.insert(0, str(Path(__file__).parent))
from image_data import Images, batch_of, folder, image_grid, shapes, split
from loop_parts import LoopParts, add_fault_argument, apply_fault, batch_checksum, config_of, find_fault, notes_of

# ---- arguments

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--dir", default="runs", help="log directory (runs)")
parser.add_argument("--run-tag", help="appended to the run's number")
parser.add_argument("--steps", type=int, default=1200, help="batches to train on (1200)")
parser.add_argument("--batch-size", type=int, default=64, help="images per batch; more are less noisy and cost more")
parser.add_argument("--optimizer", choices=("adamw", "sgd"), default="adamw", help="sgd has momentum 0.9")
parser.add_argument("--learning-rate", type=float, help="the peak (3e-3 for adamw, 0.1 for sgd)")
parser.add_argument("--warmup-steps", type=int, help="steps until the peak (default: 1/20 of the run)")
parser.add_argument("--weight-decay", type=float, default=1e-2, help="of all weights")
parser.add_argument("--clip-norm", type=float, default=5.0, help="maximum gradient norm; 0: no clipping")
parser.add_argument("--width", type=int, default=16, help="channels of the first layer; later ones have 2x and 4x")
parser.add_argument("--dropout", type=float, default=0.1, help="share of features dropped at each step")
parser.add_argument("--images", metavar="FOLDER", help="train on these images instead; each subfolder is a class")
parser.add_argument("--size", type=int, default=24, help="image side in pixels")
parser.add_argument("--noise", type=float, default=0.5, help="standard deviation of the noise on generated images")
parser.add_argument("--train-images", type=int, default=12_000, help="number of generated training images")
parser.add_argument("--eval-every", type=int, help="steps between evaluations (default: 1/25 of the run)")
parser.add_argument("--checkpoint-every", type=int, default=0, help="steps between checkpoints; 0: none")
parser.add_argument("--resume", metavar="RUN", help="resume a run from its checkpoint: its name, or latest")
parser.add_argument("--tags", choices=("plain", "keras", "lightning"), default="plain", help="style of the tags")
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
parser.add_argument("--seed", type=int, default=0)
add_fault_argument(parser, base="classifier")
args = parser.parse_args()
if args.fault:
    find_fault(args.fault, base="classifier")  # exits for an unknown name, before a run starts

learning_rate = args.learning_rate or {"adamw": 3e-3, "sgd": 0.1}[args.optimizer]
warmup_steps = max(1, args.steps // 20) if args.warmup_steps is None else args.warmup_steps
eval_every = args.eval_every or max(1, args.steps // 25)
clip_norm = args.clip_norm or None

# ---- data

if args.images:
    train_images, val_images = split(folder(args.images, size=args.size, seed=args.seed))
else:
    train_images = shapes(args.train_images, size=args.size, noise=args.noise, seed=args.seed)
    val_images = shapes(1000, size=args.size, noise=args.noise, seed=args.seed + 1_000_000)


def batch(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The images and classes of a step."""
    chosen = batch_of(train_images, step=step, batch_size=args.batch_size, seed=args.seed)
    pixels, labels = train_images.at(chosen)
    return pixels.to(args.device), labels.to(args.device)


# ---- model: three blocks of convolution, normalization and pooling, then a linear layer


def block(channels_in: int, channels_out: int) -> nn.Sequential:
    """Halves the resolution."""
    convolution = nn.Conv2d(channels_in, channels_out, 3, padding=1, bias=False)
    return nn.Sequential(convolution, nn.GroupNorm(4, channels_out), nn.ReLU(), nn.MaxPool2d(2))


class Classifier(nn.Module):
    """Images in, one score per class out."""

    def __init__(self, *, channels: int, width: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.stem = block(channels, width)
        self.middle = block(width, 2 * width)
        self.top = block(2 * width, 4 * width)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(4 * width, classes)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        features = self.top(self.middle(self.stem(pixels)))
        return self.head(self.dropout(features.mean(dim=(2, 3))))


torch.manual_seed(args.seed)
channels, classes = train_images.pixels.shape[1], len(train_images.names)
model = Classifier(channels=channels, width=args.width, classes=classes, dropout=args.dropout).to(args.device)
if args.optimizer == "adamw":
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=args.weight_decay)
else:
    decay = args.weight_decay * 0.05  # SGD multiplies it by its learning rate, which is larger
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate, momentum=0.9, weight_decay=decay)


def lr_at(step: int) -> float:
    """Linear warm-up, then cosine decay to 1 %."""
    if step < warmup_steps:
        return learning_rate * (step + 1) / warmup_steps
    done = (step - warmup_steps) / max(1, args.steps - warmup_steps)
    return learning_rate * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))


# ---- loss and evaluation

train_accuracy: dict[str, torch.Tensor] = {}  # of the newest batch, for logging


def loss_of(batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Cross-entropy of a batch, in nats."""
    pixels, labels = batch
    scores = model(pixels)
    train_accuracy["train/accuracy"] = (scores.detach().argmax(dim=1) == labels).float().mean()
    return F.cross_entropy(scores, labels)


@torch.no_grad()
def predict(pixels: torch.Tensor) -> torch.Tensor:
    """Scores of images, 500 at a time."""
    model.eval()
    scores = [model(chunk.to(args.device)).cpu() for chunk in pixels.split(500)]
    model.train()
    return torch.cat(scores)


def evaluate(step: int) -> dict[str, float]:
    """Loss and accuracy on held-out images."""
    scores = predict(val_images.pixels)
    first = slice(0, 500)
    again = F.cross_entropy(predict(val_images.pixels[first]), val_images.labels[first])
    return {
        "probe/eval_twice": (F.cross_entropy(scores[first], val_images.labels[first]) - again).abs().item(),
        "val/loss": F.cross_entropy(scores, val_images.labels).item(),
        "val/accuracy": (scores.argmax(dim=1) == val_images.labels).float().mean().item(),
    }


def confusion(scores: torch.Tensor, images: Images) -> str:
    """A table in percent: rows are true classes, columns are predictions."""
    count = len(images.names)
    table = torch.zeros(count, count)
    for truth, predicted in zip(images.labels.tolist(), scores.argmax(dim=1).tolist(), strict=True):
        table[truth, predicted] += 1
    table = 100 * table / table.sum(dim=1, keepdim=True).clamp(min=1)
    lines = ["| | " + " | ".join(images.names) + " |", "|---" * (count + 1) + "|"]
    for name, row in zip(images.names, table.tolist(), strict=True):
        lines.append(f"| **{name}** | " + " | ".join(f"{share:.0f}" if share >= 0.5 else "" for share in row) + " |")
    return "\n".join(lines)


# ---- the run

STYLES = {
    "plain": {},
    "keras": {
        "train/loss": "loss",
        "train/accuracy": "accuracy",
        "val/loss": "val_loss",
        "val/accuracy": "val_accuracy",
        "train/lr": "learning_rate",
        "train/grad_norm": "grad_norm",
        "epoch": "epoch",
    },
    "lightning": {
        "train/loss": "train_loss_step",
        "train/accuracy": "train_acc_step",
        "val/loss": "val_loss",
        "val/accuracy": "val_acc",
        "train/lr": f"lr-{type(optimizer).__name__}",
        "train/grad_norm": "grad_2.0_norm_total",
        "epoch": "epoch",
    },
}

run = pb.init(
    dir=args.dir,
    run_tag=args.run_tag,
    resume=args.resume,
    tags=["classifier"],
    notes=notes_of(args),
    config={
        **config_of(args),
        "model": "cnn",
        "parameters": sum(p.numel() for p in model.parameters()),
        "num_classes": classes,
        "max_steps": args.steps,
        "warmup_steps": warmup_steps,
        "learning_rate": learning_rate,
        "clip_norm": clip_norm,
        "eval_every": eval_every,
        "train_images": len(train_images),
        "steps_per_epoch": len(train_images) // args.batch_size,
    },
)


def log(values: dict[str, object], step: int) -> None:
    """Log under the tags of the chosen style."""
    names = STYLES[args.tags]
    run.log({names.get(tag, tag): value for tag, value in values.items()}, step)


parts = LoopParts(
    base="classifier",
    args=args,
    run=run,
    model=model,
    optimizer=optimizer,
    steps=args.steps,
    lr_at=lr_at,
    batch=batch,
    loss=loss_of,
    evaluate=evaluate,
    clip_norm=clip_norm,
    log=log,
    extra={"after_step": lambda step: None, "train_images": train_images, "val_images": val_images},
)
checkpoint = run.directory / "checkpoints" / "last.pt"
if args.resume and checkpoint.exists():
    saved = torch.load(checkpoint, map_location=args.device)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    parts.first_step = saved["step"] + 1
apply_fault(parts)

# Short runs are measured often; for long ones the defaults of `watch` are enough.
watch_every = max(1, min(100, args.steps // 80))
watch = pb.watch(
    parts.model,
    parts.optimizer,
    run=run,
    overhead=None,
    dead_units=True,
    histogram_interval=max(1, args.steps // 10),
    every=dict.fromkeys(
        ("gradient_flow", "parameter_norm", "update", "sparsity", "dead_units", "performance"), watch_every
    ),
    start_step=parts.first_step,
)

# ---- the loop

steps_per_epoch = max(1, len(train_images) // args.batch_size)
started_at = time.perf_counter()
run.image("samples/train", image_grid(train_images.pixels[:32]), step=parts.first_step)
for step in range(parts.first_step, parts.steps):
    lr = parts.lr_at(step)
    parts.set_lr(lr)
    parts.zero_grad()
    train_batch = parts.batch(step)
    loss = parts.loss(train_batch)
    parts.backward(loss)
    norm = parts.clip()
    parts.step()
    parts.extra["after_step"](step)
    logged = {"train/loss": loss.detach(), "train/lr": lr, "train/grad_norm": norm, "epoch": step / steps_per_epoch}
    logged |= {"data/batch_checksum": batch_checksum(train_batch), **train_accuracy}
    last = step == parts.steps - 1
    if step % eval_every == 0 or last:
        found = parts.evaluate(step)
        logged |= found
        if step % (10 * eval_every) == 0 or last:
            numbers = " ".join(f"{tag} {value:.3f}" for tag, value in found.items())
            print(f"step {step:5d}  train/loss {loss.item():.3f}  {numbers}  {time.perf_counter() - started_at:.0f} s")
    parts.log(logged, step)
    if args.checkpoint_every and (step + 1) % args.checkpoint_every == 0:
        checkpoint.parent.mkdir(exist_ok=True)
        state = {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save(state, checkpoint.with_suffix(".part"))
        checkpoint.with_suffix(".part").replace(checkpoint)  # atomic: a job killed while writing keeps the old one

# ---- at the end: its errors

scores = predict(val_images.pixels)
wrong = (scores.argmax(dim=1) != val_images.labels).nonzero().flatten()
run.text("val/confusion", confusion(scores, val_images), step=parts.steps - 1)
if len(wrong):
    run.image("samples/wrong", image_grid(val_images.pixels[wrong[:32]]), step=parts.steps - 1)
run.hparams(
    {"learning_rate": learning_rate, "optimizer": args.optimizer, "batch_size": args.batch_size, "width": args.width},
    {"val/accuracy": (scores.argmax(dim=1) == val_images.labels).float().mean().item()},
)
watch.close()
run.finish()
