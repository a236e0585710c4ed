"""Train a hierarchical JEPA: hide parts of an image, and predict their features from the rest at three resolutions.

python trainers/hjepa.py                                            # a minute on one core
python trainers/hjepa.py config.yaml                                # its blocks `logging` and `masking`; flags override
python trainers/hjepa.py --images pictures/ --size 224 --patch 16 --dim 768 --depth 12 --heads 12 --steps 300000
python trainers/hjepa.py --fault no-stop-gradient                   # broken on purpose; see zoo/faults/

Three networks (hjepa_model.py): the context encoder sees the visible part of an image, the predictor predicts the
features of the hidden part, and the target encoder, which sees the whole image, provides the targets. The target
encoder is not trained. It slowly follows the context encoder (EMA); if it were trained too, both would settle on a
constant.
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
from pulseboard.instruments import (
    Clipping,
    Convergence,
    Stability,
    collapse,
    ema,
    hierarchical_losses,
    hierarchy,
    masking,
    prediction,
)

sys.path.insert(0, str(Path(__file__).parent))
from config_file import flags_in
from hjepa_model import HJEPA, LEVELS, pooled
from image_data import Images, batch_of, folder, image_grid, random_of, split, textures
from loop_parts import LoopParts, add_fault_argument, apply_fault, batch_checksum, config_of, find_fault, notes_of

# ---- arguments

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("config", nargs="?", help="YAML: logging (log_dir, log_frequency, experiment_name), masking, wandb")
parser.add_argument("--run-name", help="name of the run's directory instead of <date>_<number>")
parser.add_argument("--dir", default="runs", help="log directory (runs)")
parser.add_argument("--run-tag", help="appended to the run's number")
parser.add_argument("--steps", type=int, default=1000, help="batches to train on (1000)")
parser.add_argument("--batch-size", type=int, default=32, help="images per batch")
parser.add_argument("--learning-rate", type=float, default=2e-3, help="the peak")
parser.add_argument("--warmup-steps", type=int, help="steps until the peak (default: 1/20 of the run)")
parser.add_argument("--weight-decay", type=float, default=0.04, help="of AdamW, on all weights")
parser.add_argument("--clip-norm", type=float, default=1.0, help="maximum gradient norm; 0: no clipping")
parser.add_argument("--ema-start", type=float, default=0.996, help="EMA momentum of the target encoder at the start")
parser.add_argument("--ema-end", type=float, default=1.0, help="EMA momentum at the end; 1: the target stops moving")
parser.add_argument("--num-masks", type=int, default=4, help="hidden rectangles per image")
parser.add_argument("--mask-scale", type=float, nargs=2, default=(0.15, 0.2), help="share of the image in one")
parser.add_argument("--aspect-ratio", type=float, nargs=2, default=(0.75, 1.5), help="height over width of one")
parser.add_argument(
    "--hierarchy-weights", type=float, nargs=LEVELS, default=(1.0, 1.0, 1.0), help="of the levels' losses, finest first"
)
parser.add_argument("--raw-targets", action="store_true", help="do not normalize targets")
parser.add_argument("--dim", type=int, default=64, help="embedding size")
parser.add_argument("--depth", type=int, default=2, help="encoder layers")
parser.add_argument("--heads", type=int, default=4, help="attention heads")
parser.add_argument("--predictor-dim", type=int, default=32, help="predictor width; narrow on purpose")
parser.add_argument("--predictor-depth", type=int, default=1, help="predictor layers")
parser.add_argument("--patch", type=int, default=4, help="patch side in pixels")
parser.add_argument("--size", type=int, default=32, help="image side in pixels")
parser.add_argument("--images", metavar="FOLDER", help="train on these images instead")
parser.add_argument("--noise", type=float, default=0.4, help="noise on generated images; waves have strength 1")
parser.add_argument("--train-images", type=int, default=16_000, help="number of generated training images")
parser.add_argument("--log-every", type=int, help="steps between collapse, prediction and others (1/100 of the run)")
parser.add_argument("--eval-every", type=int, help="steps between evaluations (default: 1/25 of the run)")
parser.add_argument("--probe-every", type=int, default=0, help="steps between probes; 0: only first and last")
parser.add_argument("--histogram-interval", type=int, help="steps between histograms (default: 1/5 of the run)")
parser.add_argument("--checkpoint-every", type=int, default=0, help="steps between checkpoints; 0: none")
parser.add_argument("--resume", metavar="RUN", help="resume a run from its checkpoint: its name, or latest")
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
parser.add_argument("--seed", type=int, default=0)
add_fault_argument(parser, base="hjepa")
args = parser.parse_args()
if args.config:
    parser.set_defaults(**flags_in(args.config))
    args = parser.parse_args()
if args.fault:
    find_fault(args.fault, base="hjepa")  # exits for an unknown name, before a run starts

warmup_steps = max(1, args.steps // 20) if args.warmup_steps is None else args.warmup_steps
log_every = args.log_every or max(1, min(100, args.steps // 100))
eval_every = args.eval_every or max(1, args.steps // 25)
histogram_interval = args.histogram_interval or max(1, args.steps // 5)
clip_norm = args.clip_norm or None
grid = args.size // args.patch
if grid < 2 ** (LEVELS - 1):
    raise SystemExit(
        f"{args.size} pixels make {grid} patches of {args.patch} per side; {LEVELS} levels need at least 4."
    )

# ---- data: images and masks

if args.images:
    train_images, val_images = split(folder(args.images, size=args.size, seed=args.seed))
    probe_train, probe_test = split(train_images)[1], val_images
else:
    train_images = textures(args.train_images, size=args.size, noise=args.noise, seed=args.seed)
    val_images = textures(256, size=args.size, noise=args.noise, seed=args.seed + 1_000_000)
    probe_train = textures(200, size=args.size, noise=args.noise, seed=args.seed + 2_000_000)
    probe_test = textures(1000, size=args.size, noise=args.noise, seed=args.seed + 3_000_000)


def draw_masks(count: int, random: torch.Generator) -> torch.Tensor:
    """True where a patch is hidden, in the union of a few rectangles: (count, patches)."""

    def between(low: float, high: float) -> torch.Tensor:
        return low + (high - low) * torch.rand(count, args.num_masks, 1, generator=random)

    area, aspect = between(*args.mask_scale) * grid**2, between(*args.aspect_ratio)
    height = (area * aspect).sqrt().round().clamp(1, grid - 1)
    width = (area / aspect).sqrt().round().clamp(1, grid - 1)
    top, left = (between(0, 1) * (grid - height + 1)).floor(), (between(0, 1) * (grid - width + 1)).floor()
    line = torch.arange(grid)
    rows, columns = (line >= top) & (line < top + height), (line >= left) & (line < left + width)
    return (rows.unsqueeze(3) & columns.unsqueeze(2)).any(dim=1).flatten(1)


def batch(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The images of a step, and their masks."""
    chosen = batch_of(train_images, step=step, batch_size=args.batch_size, seed=args.seed)
    masks = parts.extra["draw_masks"](len(chosen), random_of(args.seed, 11, step))
    return train_images.pixels[chosen].to(args.device), masks.to(args.device)


# ---- model


def new_model() -> HJEPA:
    """A model with random weights."""
    torch.manual_seed(args.seed)
    return HJEPA(
        channels=train_images.pixels.shape[1],
        grid=grid,
        patch=args.patch,
        dim=args.dim,
        depth=args.depth,
        heads=args.heads,
        predictor_dim=args.predictor_dim,
        predictor_depth=args.predictor_depth,
        raw_targets=args.raw_targets,
    ).to(args.device)


model = new_model()
optimizer = torch.optim.AdamW(
    [{"params": model.context_encoder.parameters()}, {"params": model.predictor.parameters()}],
    lr=args.learning_rate,
    weight_decay=args.weight_decay,
    betas=(0.9, 0.95),
)


def lr_at(step: int) -> float:
    """Linear warm-up, then cosine decay to 1 %."""
    if step < warmup_steps:
        return args.learning_rate * (step + 1) / warmup_steps
    done = (step - warmup_steps) / max(1, args.steps - warmup_steps)
    return args.learning_rate * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))


def ema_momentum(step: int) -> float:
    """Linear from start to end."""
    return args.ema_start + (args.ema_end - args.ema_start) * step / max(1, args.steps - 1)


@torch.no_grad()
def update_target(step: int) -> None:
    """Move the target encoder a little toward the context encoder."""
    momentum = parts.extra["ema_momentum"](step)
    for target, context in zip(model.target_encoder.parameters(), model.context_encoder.parameters(), strict=True):
        target.mul_(momentum).add_(context, alpha=1 - momentum)


# ---- loss and evaluation

last_pass: dict[str, list[torch.Tensor]] = {}  # from the newest forward pass, for logging


def losses_of(levels: list[tuple[torch.Tensor, ...]]) -> list[torch.Tensor]:
    """The mean squared error of each level over hidden positions."""
    losses = []
    for predicted, target, hidden in levels:
        error = (predicted - target).square().mean(dim=2)
        losses.append((error * hidden).sum() / hidden.sum().clamp(min=1))
    return losses


def loss_of(batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """The weighted sum of the levels' losses."""
    levels = model(*batch)
    losses = losses_of(levels)
    last_pass["losses"] = [loss.detach() for loss in losses]
    last_pass["predicted"] = [predicted.detach()[hidden] for predicted, _, hidden in levels]
    last_pass["targets"] = [target.detach()[hidden] for _, target, hidden in levels]
    last_pass["variance"] = [target.detach().var(dim=(0, 1)).mean() for _, target, _ in levels]
    last_pass["batch"] = list(batch)
    weights = parts.extra["hierarchy_weights"]
    return sum(weight * loss for weight, loss in zip(weights, losses, strict=True))


val_masks = draw_masks(len(val_images), random_of(args.seed, 13))


@torch.no_grad()
def evaluate(step: int) -> dict[str, float]:
    """The losses on held-out images, always with the same masks."""
    model.eval()
    with torch.random.fork_rng():  # the same numbers each time, without changing the training
        torch.manual_seed(args.seed)
        losses = losses_of(model(val_images.pixels.to(args.device), val_masks.to(args.device)))
    model.train()
    return hierarchical_losses(losses, weights=args.hierarchy_weights, prefix="val")


@torch.no_grad()
def probe(encoder: nn.Module) -> float:
    """The accuracy of a linear classifier on an encoder's features, averaged over each image.

    Ridge regression on a few labeled images that the encoder never saw. Few, because with many even random features
    work well: the question is whether the features separate the classes directly.
    """

    def features(images: Images) -> torch.Tensor:
        return torch.cat([encoder(pixels.to(args.device)).mean(dim=1).cpu() for pixels in images.pixels.split(500)])

    x, tests = (features(images).double().nan_to_num(0, 0, 0) for images in (probe_train, probe_test))
    mean, std = x.mean(dim=0), x.std(dim=0) + 1e-6
    x, tests = (x - mean) / std, (tests - mean) / std
    one_hot = F.one_hot(probe_train.labels, len(probe_train.names)).double()
    shrinkage = 1e-2 * len(x) * torch.eye(x.shape[1], dtype=x.dtype)
    weights = torch.linalg.solve(x.T @ x + shrinkage, x.T @ (one_hot - one_hot.mean(dim=0)))
    return ((tests @ weights + one_hot.mean(dim=0)).argmax(dim=1) == probe_test.labels).double().mean().item()


# ---- the run

run = pb.init(
    dir=args.dir,
    settings_file=args.config,
    run_id=args.run_name,
    run_tag=args.run_tag,
    resume=args.resume,
    tags=["hjepa"],
    notes=notes_of(args),
    config={
        **config_of(args),
        "model": "hjepa",
        "parameters": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "optimizer": "adamw",
        "max_steps": args.steps,
        "warmup_steps": warmup_steps,
        "clip_norm": clip_norm,
        "frozen": "target_encoder",  # updated by EMA, not by the optimizer
        "levels": LEVELS,
        "embedding_dim": args.dim,
        "ema_momentum_start": args.ema_start,
        "ema_momentum_end": args.ema_end,
        "num_patches": grid * grid,
        "num_classes": len(probe_train.names),
        "train_images": len(train_images),
        "steps_per_epoch": len(train_images) // args.batch_size,
    },
)
parts = LoopParts(
    base="hjepa",
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
        "after_step": update_target,
        "ema_momentum": ema_momentum,
        "draw_masks": draw_masks,
        "hierarchy_weights": list(args.hierarchy_weights),
        "train_images": train_images,
    },
)
checkpoint = run.directory / "checkpoints" / "last.pt"
if args.resume and checkpoint.exists():
    saved = torch.load(checkpoint, map_location=args.device)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    parts.first_step = saved["step"] + 1
apply_fault(parts)

watch = pb.watch(
    parts.model,
    parts.optimizer,
    run=run,
    overhead=None,
    histogram_interval=0,
    every=dict.fromkeys(
        ("gradient_flow", "learning_rate", "parameter_norm", "update", "sparsity", "performance"), log_every
    ),
    start_step=parts.first_step,
)
clipping, stability, convergence = Clipping(clip_norm or math.inf), Stability(), Convergence()
untrained = {"probe/accuracy": probe(model.context_encoder), "probe/chance": 1 / len(probe_train.names)}


@torch.no_grad()
def measure(step: int) -> dict[str, object]:
    """Measured from time to time: masks, predictions, collapse, the target's lag."""
    pixels, masks = last_pass["batch"]
    found = masking(masks)
    features = model.context_encoder(pixels)
    target_features = model.target_encoder(pixels)
    for level in range(LEVELS):
        found |= prediction(last_pass["predicted"][level], last_pass["targets"][level], level=level)
        found |= collapse(pooled(features, level), level=level)
        found |= hierarchy(pooled(target_features, level), level=level)
        # The loss scales with the features; relative to their variance it can be compared.
        found[f"train/loss/relative_h{level}"] = last_pass["losses"][level] / last_pass["variance"][level]
    found |= ema(
        model.context_encoder.parameters(),
        model.target_encoder.parameters(),
        momentum=parts.extra["ema_momentum"](step),
        momentum_target=args.ema_end,
    )
    return found


# ---- the loop

started_at = time.perf_counter()
run.image("samples/train", image_grid(train_images.pixels[:32]), step=parts.first_step)
for step in range(parts.first_step, parts.steps):
    parts.set_lr(parts.lr_at(step))
    parts.zero_grad()
    images_and_masks = parts.batch(step)
    loss = parts.loss(images_and_masks)
    parts.backward(loss)
    norm = parts.clip()
    if step % histogram_interval == 0:
        for name, p in model.named_parameters():
            if p.grad is not None:
                run.histogram(f"gradients/{name}_histogram", p.grad, step=step)
    parts.step()
    parts.extra["after_step"](step)

    last = step == parts.steps - 1
    logged = hierarchical_losses(last_pass["losses"], weights=parts.extra["hierarchy_weights"])
    logged["train/loss/total"] = loss.detach()
    logged["data/batch_checksum"] = batch_checksum(images_and_masks)
    logged |= convergence(last_pass["losses"])
    logged |= clipping(norm)
    if step % log_every == 0 or last:
        logged |= measure(step)
    validation = None
    if step % eval_every == 0 or last:
        found = parts.evaluate(step)
        validation = found["val/loss/total"]
        logged |= found
    logged |= stability(loss.detach(), validation_loss=validation)
    if step == parts.first_step:
        logged |= untrained
    elif last or (args.probe_every and step % args.probe_every == 0):
        logged["probe/accuracy"] = probe(model.context_encoder)
        logged["probe/target_accuracy"] = probe(model.target_encoder)
    if step % (5 * eval_every) == 0 or last:
        losses = f"train/loss/total {loss.item():.3f}  val/loss/total {float(found['val/loss/total']):.3f}"
        print(f"step {step:5d}  {losses}  {time.perf_counter() - started_at:.0f} s")
    parts.log(logged, step)
    if args.checkpoint_every and (step + 1) % args.checkpoint_every == 0:
        checkpoint.parent.mkdir(exist_ok=True)
        state = {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save(state, checkpoint.with_suffix(".part"))
        checkpoint.with_suffix(".part").replace(checkpoint)  # atomic: a job killed while writing keeps the old one

# ---- at the end: did it learn anything?

trained, before, chance = probe(model.context_encoder), untrained["probe/accuracy"], untrained["probe/chance"]
print(f"linear probe: {trained:.3f}; before training {before:.3f}; chance {chance:.3f}")
run.hparams(
    {"learning_rate": args.learning_rate, "ema_start": args.ema_start, "dim": args.dim, "batch_size": args.batch_size},
    {"probe/accuracy": trained},
)
watch.close()
run.finish()
