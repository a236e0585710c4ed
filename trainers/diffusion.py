"""Train a small diffusion model (DDPM) to generate shapes, and see at which noise levels it errs.

python trainers/diffusion.py                                        # a minute on one core
python trainers/diffusion.py --images pictures/ --size 64 --width 128 --batch-size 128 --steps 200000
python trainers/diffusion.py --fault diffusion-wrong-target         # broken on purpose; see zoo/faults/

An image is mixed with noise; the schedule determines the amount at step t of T. The model sees the mixture and predicts
the noise. To generate an image, start with pure noise and remove the predicted noise step by step.
"""

import argparse
import copy
import math
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

import pulseboard as pb
from pulseboard.instruments import EpochLoss, evaluation, loss_by_noise

sys.path.insert(0, str(Path(__file__).parent))
from image_data import batch_of, folder, image_grid, random_of, shapes, split
from loop_parts import LoopParts, add_fault_argument, apply_fault, batch_checksum, config_of, find_fault, notes_of

# ---- arguments

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--dir", default="runs", help="log directory (runs)")
parser.add_argument("--run-tag", help="appended to the run's number")
parser.add_argument("--steps", type=int, default=1500, help="batches to train on (1500)")
parser.add_argument("--batch-size", type=int, default=32, help="images per batch, each with its own noise level")
parser.add_argument("--learning-rate", type=float, default=2e-3, help="the peak")
parser.add_argument("--warmup-steps", type=int, help="steps until the peak (default: 1/20 of the run)")
parser.add_argument("--weight-decay", type=float, default=0.01, help="of AdamW, on all weights")
parser.add_argument("--clip-norm", type=float, default=1.0, help="maximum gradient norm; 0: no clipping")
parser.add_argument("--ema", type=float, default=0.995, help="EMA momentum of the averaged weights")
parser.add_argument("--noise-steps", type=int, default=200, help="T: steps from image to noise")
parser.add_argument(
    "--width", type=int, default=16, help="channels of the first layers; deeper ones have twice as many"
)
parser.add_argument("--size", type=int, default=12, help="image side in pixels")
parser.add_argument("--images", metavar="FOLDER", help="train on these images instead")
parser.add_argument("--train-images", type=int, default=8000, help="number of generated training images")
parser.add_argument("--val-images", type=int, default=200, help="images per validation set")
parser.add_argument("--eval-every", type=int, help="steps between evaluations (default: 1/25 of the run)")
parser.add_argument("--sample-every", type=int, help="steps between samples (default: 1/5 of the run)")
parser.add_argument("--sampling-steps", type=int, default=40, help="steps per sample (DDIM)")
parser.add_argument("--checkpoint-every", type=int, default=0, help="steps between checkpoints; 0: none")
parser.add_argument("--resume", metavar="RUN", help="resume a run from its checkpoint: its name, or latest")
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
parser.add_argument("--seed", type=int, default=0)
add_fault_argument(parser, base="diffusion")
args = parser.parse_args()
if args.fault:
    find_fault(args.fault, base="diffusion")  # exits for an unknown name, before a run starts

warmup_steps = max(1, args.steps // 20) if args.warmup_steps is None else args.warmup_steps
eval_every = args.eval_every or max(1, args.steps // 25)
sample_every = args.sample_every or max(1, args.steps // 5)
clip_norm = args.clip_norm or None

# ---- data: one set to train on, and three to evaluate on

if args.images:
    train_images, held_out = split(folder(args.images, size=args.size, seed=args.seed))
    validation_sets = {"validation": held_out.pixels[: args.val_images]}
else:
    clean = {"size": args.size, "noise": 0.02}
    train_images = shapes(args.train_images, seed=args.seed, **clean)
    validation_sets = {
        # Shapes like those in training, smaller ones, and larger ones.
        "validation": shapes(args.val_images, seed=args.seed + 1_000_000, **clean).pixels,
        "small_shapes": shapes(args.val_images, seed=args.seed + 2_000_000, scales=(0.3, 0.45), **clean).pixels,
        "large_shapes": shapes(args.val_images, seed=args.seed + 3_000_000, scales=(0.8, 0.95), **clean).pixels,
    }


def batch(step: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Images, their noise levels (0 to T-1), and the noise."""
    chosen = batch_of(train_images, step=step, batch_size=args.batch_size, seed=args.seed)
    random = random_of(args.seed, 17, step)
    pixels = train_images.pixels[chosen]
    levels = torch.randint(args.noise_steps, (len(pixels),), generator=random)
    noise = torch.randn(pixels.shape, generator=random)
    return pixels.to(args.device), levels.to(args.device), noise.to(args.device)


# ---- the noise: a cosine schedule (Nichol and Dhariwal 2021)

times = torch.arange(args.noise_steps + 1) / args.noise_steps
signal = torch.cos((times + 0.008) / 1.008 * math.pi / 2) ** 2
signal = (signal / signal[0])[1:].clamp(min=1e-3).to(args.device)  # share of the image's variance left at step t


def mix(pixels: torch.Tensor, levels: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    """Images mixed with noise."""
    share = signal[levels].view(-1, 1, 1, 1)
    return share.sqrt() * pixels + (1 - share).sqrt() * noise


# ---- model: a small U-Net; every block gets the noise level


class Block(nn.Module):
    """Two convolutions with the noise level in between, and a residual connection."""

    def __init__(self, channels_in: int, channels: int, embedding: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(8, channels_in), nn.GroupNorm(8, channels)
        self.first = nn.Conv2d(channels_in, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        self.level = nn.Linear(embedding, channels)
        self.around = nn.Conv2d(channels_in, channels, 1) if channels_in != channels else nn.Identity()

    def forward(self, x: torch.Tensor, level: torch.Tensor) -> torch.Tensor:
        inner = self.first(F.silu(self.norm1(x))) + self.level(level)[:, :, None, None]
        return self.around(x) + self.second(F.silu(self.norm2(inner)))


class Denoiser(nn.Module):
    """Mixtures and noise levels in, the predicted noise out."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        embedding = 4 * width
        self.width = width
        self.time = nn.Sequential(nn.Linear(2 * width, embedding), nn.SiLU(), nn.Linear(embedding, embedding))
        self.enter = nn.Conv2d(channels, width, 3, padding=1)
        self.down = Block(width, width, embedding)
        self.middle = Block(width, 2 * width, embedding)
        self.deep = Block(2 * width, 2 * width, embedding)
        self.up = Block(3 * width, width, embedding)
        self.norm = nn.GroupNorm(8, width)
        self.leave = nn.Conv2d(width, channels, 3, padding=1)

    def forward(self, x: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
        waves = torch.exp(-math.log(1000) * torch.arange(self.width, device=x.device) / self.width)
        angles = 1000 * levels[:, None] / args.noise_steps * waves
        level = F.silu(self.time(torch.cat([angles.sin(), angles.cos()], dim=1)))
        fine = self.down(self.enter(x), level)
        coarse = self.deep(self.middle(F.avg_pool2d(fine, 2), level), level)
        both = torch.cat([fine, F.interpolate(coarse, scale_factor=2.0)], dim=1)
        return self.leave(F.silu(self.norm(self.up(both, level))))


torch.manual_seed(args.seed)
channels = train_images.pixels.shape[1]
model = Denoiser(channels, args.width).to(args.device)
averaged = copy.deepcopy(model).requires_grad_(False)  # the weights used for evaluation and sampling
optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate, weight_decay=args.weight_decay)


def lr_at(step: int) -> float:
    """Linear warm-up, then cosine decay to 5 %."""
    if step < warmup_steps:
        return args.learning_rate * (step + 1) / warmup_steps
    done = (step - warmup_steps) / max(1, args.steps - warmup_steps)
    return args.learning_rate * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))


def ema_momentum(step: int) -> float:
    """Lower at first, while the weights change a lot: (1 + step) / (10 + step)."""
    return min(args.ema, (1 + step) / (10 + step))


@torch.no_grad()
def update_average(step: int) -> None:
    """Move the averaged weights toward the trained ones."""
    momentum = parts.extra["ema_momentum"](step)
    for average, trained in zip(averaged.parameters(), model.parameters(), strict=True):
        average.mul_(momentum).add_(trained, alpha=1 - momentum)


# ---- loss, evaluation, sampling


def target(pixels: torch.Tensor, levels: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    """What the model is trained to predict."""
    return noise


def losses_of(network: nn.Module, batch: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """The mean squared error of each image."""
    pixels, levels, noise = batch
    predicted = network(mix(pixels, levels, noise), levels)
    return (predicted - parts.extra["target"](pixels, levels, noise)).square().mean(dim=(1, 2, 3))


def loss_of(batch: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """The mean squared error of a batch."""
    return losses_of(model, batch).mean()


def validation_batch(pixels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """All noise levels equally often, and the same noise each time: only the model differs between evaluations."""
    levels = (torch.arange(len(pixels)) * args.noise_steps) // len(pixels)
    noise = torch.randn(pixels.shape, generator=random_of(args.seed, 19))
    return pixels.to(args.device), levels.to(args.device), noise.to(args.device)


@torch.no_grad()
def evaluate(step: int) -> dict[str, float]:
    """The loss of each validation set, overall and by tenths of the noise levels."""
    started_at = time.perf_counter()
    averaged.eval()
    found: dict[str, float] = {}
    for name, pixels in validation_sets.items():
        whole = validation_batch(pixels)
        losses = losses_of(averaged, whole)
        found |= evaluation(losses, name=name, secs=time.perf_counter() - started_at)
        found |= loss_by_noise(whole[1], losses, name=name)
    return found


@torch.no_grad()
def sample(count: int) -> torch.Tensor:
    """Generate images from noise (DDIM, deterministic)."""
    x = torch.randn(count, channels, args.size, args.size, generator=random_of(args.seed, 23)).to(args.device)
    levels = torch.linspace(args.noise_steps - 1, 0, args.sampling_steps).round().long().tolist()
    for level, lower in zip(levels, [*levels[1:], None], strict=True):
        noise = averaged(x, torch.full((count,), level, device=x.device))
        image = ((x - (1 - signal[level]).sqrt() * noise) / signal[level].sqrt()).clamp(-1.5, 1.5)
        x = image if lower is None else signal[lower].sqrt() * image + (1 - signal[lower]).sqrt() * noise
    return x


def sharpness(pixels: torch.Tensor) -> float:
    """Correlation of neighboring pixels: near 1 for shapes, 0 for noise."""
    centered = pixels - pixels.mean(dim=(2, 3), keepdim=True)
    neighbors = (centered[..., 1:] * centered[..., :-1]).mean()
    return (neighbors / centered.square().mean().clamp(min=1e-12)).item()


# ---- the run

run = pb.init(
    dir=args.dir,
    run_tag=args.run_tag,
    resume=args.resume,
    tags=["diffusion"],
    notes=notes_of(args),
    config={
        **config_of(args),
        "model": "ddpm",
        "prediction_type": "epsilon",  # noise
        "parameters": sum(p.numel() for p in model.parameters()),
        "optimizer": "adamw",
        "max_steps": args.steps,
        "warmup_steps": warmup_steps,
        "clip_norm": clip_norm,
        "ema_momentum_end": args.ema,
        "eval_every": eval_every,
        "validation_sets": list(validation_sets),
        "train_images": len(train_images),
        "steps_per_epoch": len(train_images) // args.batch_size,
    },
)
parts = LoopParts(
    base="diffusion",
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
    log=run.log,
    extra={
        "after_step": update_average,
        "ema_momentum": ema_momentum,
        "target": target,
        "validation_sets": validation_sets,
        "train_images": train_images,
    },
)
checkpoint = run.directory / "checkpoints" / "last.pt"
if args.resume and checkpoint.exists():
    saved = torch.load(checkpoint, map_location=args.device)
    model.load_state_dict(saved["model"])
    averaged.load_state_dict(saved["averaged"])
    optimizer.load_state_dict(saved["optimizer"])
    parts.first_step = saved["step"] + 1
apply_fault(parts)

watch_every = max(1, min(100, args.steps // 100))
watch = pb.watch(
    parts.model,
    parts.optimizer,
    run=run,
    overhead=None,
    histogram_interval=max(1, args.steps // 5),
    every=dict.fromkeys(("gradient_flow", "parameter_norm", "update", "sparsity", "performance"), watch_every),
    start_step=parts.first_step,
)
epoch_loss = EpochLoss()

# ---- the loop

steps_per_epoch = max(1, len(train_images) // args.batch_size)
started_at = time.perf_counter()
run.image("samples/train", image_grid(train_images.pixels[:32]), step=parts.first_step)
for step in range(parts.first_step, parts.steps):
    if step % steps_per_epoch == 0:
        epoch_loss.begin_epoch()
    lr = parts.lr_at(step)
    parts.set_lr(lr)
    parts.zero_grad()
    train_batch = parts.batch(step)
    loss = parts.loss(train_batch)
    parts.backward(loss)
    norm = parts.clip()
    parts.step()
    parts.extra["after_step"](step)

    last = step == parts.steps - 1
    logged = {"train/lr": lr, "train/grad_norm": norm, "train/epoch": step / steps_per_epoch}
    logged["data/batch_checksum"] = batch_checksum(train_batch)
    logged |= epoch_loss(loss.detach())  # train/loss and train/epoch_loss
    if step % eval_every == 0 or last:
        found = parts.evaluate(step)
        logged |= found
        if step % (5 * eval_every) == 0 or last:
            numbers = "  ".join(f"{name}/loss {float(found[f'{name}/loss']):.3f}" for name in validation_sets)
            print(f"step {step:5d}  train/loss {loss.item():.3f}  {numbers}  {time.perf_counter() - started_at:.0f} s")
    if (step > 0 and step % sample_every == 0) or last or step == parts.first_step:
        samples = sample(32)
        run.image("samples/drawn", image_grid(samples), step=step)
        logged["samples/sharpness"] = sharpness(samples)
    parts.log(logged, step)
    if args.checkpoint_every and (step + 1) % args.checkpoint_every == 0:
        checkpoint.parent.mkdir(exist_ok=True)
        state = {
            "step": step,
            "model": model.state_dict(),
            "averaged": averaged.state_dict(),
            "optimizer": optimizer.state_dict(),
        }
        torch.save(state, checkpoint.with_suffix(".part"))
        checkpoint.with_suffix(".part").replace(checkpoint)  # atomic: a job killed while writing keeps the old one

run.hparams(
    {"learning_rate": args.learning_rate, "batch_size": args.batch_size, "width": args.width, "ema": args.ema},
    {"validation/loss": float(found["validation/loss"])},
)
watch.close()
run.finish()
