"""Train a hierarchical JEPA: hide parts of a picture, and predict their features, at three resolutions, from the rest.

python trainers/hjepa.py                                            # a minute on one core
python trainers/hjepa.py --images pictures/ --size 224 --patch 16 --dim 768 --depth 12 --heads 12 --steps 300000
python trainers/hjepa.py --fault no-stop-gradient                   # break it, and watch the diagnosis

Three networks: the context encoder sees what is left of a picture, the predictor guesses the features of what is
hidden, and the target encoder, which sees everything, says what they are. The target encoder is not trained. It follows
the context encoder slowly (EMA); were it trained too, both would agree on a constant.
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
from pulseboard.instruments.clipping import Clipping
from pulseboard.instruments.collapse import collapse
from pulseboard.instruments.ema import ema
from pulseboard.instruments.hierarchy import hierarchy
from pulseboard.instruments.losses import Convergence, hierarchical_losses
from pulseboard.instruments.masking import masking
from pulseboard.instruments.prediction import prediction
from pulseboard.instruments.stability import Stability

sys.path.insert(0, str(Path(__file__).parent))
from images import Images, batch_of, folder, random_of, sheet, split, textures
from parts import Parts, add_fault_argument, apply_fault, batch_checksum, config_of, find_fault, notes_of

LEVELS = 3

# ---- arguments

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--dir", default="runs", help="where runs are kept (runs)")
parser.add_argument("--run-tag", help="a word behind the run's number, to find it by")
parser.add_argument("--steps", type=int, default=1000, help="batches to train on (1000)")
parser.add_argument("--batch-size", type=int, default=32, help="pictures a batch")
parser.add_argument("--learning-rate", type=float, default=2e-3, help="the highest")
parser.add_argument("--warmup-steps", type=int, help="steps until the learning rate is at its highest (a twentieth)")
parser.add_argument("--weight-decay", type=float, default=0.04, help="pull of every weight towards 0")
parser.add_argument("--clip-norm", type=float, default=1.0, help="gradients longer than this are cut; 0: never")
parser.add_argument("--ema-start", type=float, default=0.996, help="share of itself that the target keeps at a step")
parser.add_argument("--ema-end", type=float, default=1.0, help="the same at the end; 1: the target stands still")
parser.add_argument("--num-masks", type=int, default=4, help="rectangles that are hidden of each picture")
parser.add_argument("--mask-scale", type=float, nargs=2, default=(0.15, 0.2), help="area of one, as a share")
parser.add_argument("--aspect-ratio", type=float, nargs=2, default=(0.75, 1.5), help="height over width of one")
parser.add_argument(
    "--hierarchy-weights", type=float, nargs=LEVELS, default=(1.0, 1.0, 1.0), help="of the levels' losses, finest first"
)
parser.add_argument("--raw-targets", action="store_true", help="do not normalise targets: the loss grows with them")
parser.add_argument("--dim", type=int, default=64, help="numbers of an embedding")
parser.add_argument("--depth", type=int, default=2, help="layers of the encoder")
parser.add_argument("--heads", type=int, default=4, help="heads of attention")
parser.add_argument("--predictor-dim", type=int, default=32, help="width of the predictor; narrow on purpose")
parser.add_argument("--predictor-depth", type=int, default=1, help="layers of the predictor")
parser.add_argument("--patch", type=int, default=4, help="pixels of a patch's side")
parser.add_argument("--size", type=int, default=32, help="pixels of a picture's side")
parser.add_argument("--images", metavar="FOLDER", help="train on these pictures instead")
parser.add_argument("--noise", type=float, default=0.4, help="noise on drawn pictures, beside waves of strength 1")
parser.add_argument("--train-images", type=int, default=16_000, help="pictures to draw for training")
parser.add_argument("--log-every", type=int, help="steps between collapse, prediction and the like (a 100th)")
parser.add_argument("--eval-every", type=int, help="steps between evaluations (a 25th)")
parser.add_argument("--probe-every", type=int, default=0, help="steps between probes; 0: at the start and the end")
parser.add_argument("--histogram-interval", type=int, help="steps between histograms of gradients (a 5th)")
parser.add_argument("--checkpoint-every", type=int, default=0, help="steps between checkpoints; 0: none")
parser.add_argument("--resume", metavar="RUN", help="go on with a run from its checkpoint: its name, or latest")
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
parser.add_argument("--seed", type=int, default=0)
add_fault_argument(parser, base="hjepa")
args = parser.parse_args()
if args.fault:
    find_fault(args.fault, base="hjepa")  # an unknown one ends here, before there is a run

warmup_steps = max(1, args.steps // 20) if args.warmup_steps is None else args.warmup_steps
log_every = args.log_every or max(1, min(100, args.steps // 100))
eval_every = args.eval_every or max(1, args.steps // 25)
histogram_interval = args.histogram_interval or max(1, args.steps // 5)
clip_norm = args.clip_norm or None
grid = args.size // args.patch
if grid % 2 ** (LEVELS - 1):
    raise SystemExit(
        f"{args.size} pixels in patches of {args.patch} are {grid} a side; {LEVELS} levels need a multiple of 4."
    )

# ---- data: pictures, and what is hidden of them

if args.images:
    train_images, val_images = split(folder(args.images, size=args.size, seed=args.seed))
    probe_train, probe_test = split(train_images)[1], val_images
else:
    train_images = textures(args.train_images, size=args.size, noise=args.noise, seed=args.seed)
    val_images = textures(256, size=args.size, noise=args.noise, seed=args.seed + 1_000_000)
    probe_train = textures(200, size=args.size, noise=args.noise, seed=args.seed + 2_000_000)
    probe_test = textures(1000, size=args.size, noise=args.noise, seed=args.seed + 3_000_000)


def draw_masks(count: int, random: torch.Generator) -> torch.Tensor:
    """True where a patch is hidden: the union of a few rectangles. (count, patches)."""

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
    """The pictures of a step, and what is hidden of each."""
    chosen = batch_of(train_images, step=step, batch_size=args.batch_size, seed=args.seed)
    masks = parts.extra["draw_masks"](len(chosen), random_of(args.seed, 11, step))
    return train_images.pixels[chosen].to(args.device), masks.to(args.device)


# ---- model


class Block(nn.Module):
    """A transformer layer: attention, then two linear layers, each added to what comes in."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.wide, self.narrow = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        samples, tokens, dim = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(samples, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(samples, tokens, dim)
        x = x + self.out(attended)
        return x + self.narrow(F.gelu(self.wide(self.norm2(x))))


def positions(dim: int) -> torch.Tensor:
    """Sines and cosines of a patch's row and column. (1, patches, dim)."""
    line = torch.arange(grid).float()
    waves = line.view(-1, 1) / 100.0 ** (torch.arange(dim // 4) / (dim // 4))
    one = torch.cat([waves.sin(), waves.cos()], dim=1)  # of a row, or of a column
    both = torch.cat([one.unsqueeze(1).expand(-1, grid, -1), one.unsqueeze(0).expand(grid, -1, -1)], dim=2)
    return 0.3 * both.reshape(1, grid * grid, dim)


class Encoder(nn.Module):
    """Patches in, an embedding of each out; of those patches only that are `visible`, if it is given."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(channels, args.dim, args.patch, stride=args.patch)
        self.blocks = nn.ModuleList(Block(args.dim, args.heads) for _ in range(args.depth))
        self.norm = nn.LayerNorm(args.dim)
        self.register_buffer("positions", positions(args.dim), persistent=False)

    def forward(self, pixels: torch.Tensor, visible: torch.Tensor | None = None) -> torch.Tensor:
        x = self.patches(pixels).flatten(2).transpose(1, 2) + self.positions
        if visible is not None:
            x = x.gather(1, visible.unsqueeze(2).expand(-1, -1, x.shape[2]))
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


class Predictor(nn.Module):
    """Embeddings of visible patches in; for each level a guess of the embeddings of all its places out."""

    def __init__(self) -> None:
        super().__init__()
        dim = args.predictor_dim
        self.enter = nn.Linear(args.dim, dim)
        self.hidden = nn.Parameter(torch.zeros(1, 1, dim))  # stands where a patch is hidden
        self.blocks = nn.ModuleList(Block(dim, args.heads) for _ in range(args.predictor_depth))
        self.norm = nn.LayerNorm(dim)
        self.leave = nn.ModuleList(nn.Linear(dim, args.dim) for _ in range(LEVELS))
        self.register_buffer("positions", positions(dim), persistent=False)

    def forward(self, embeddings: torch.Tensor, visible: torch.Tensor) -> list[torch.Tensor]:
        known = self.enter(embeddings)
        x = self.hidden.expand(len(known), grid * grid, -1)
        x = x.scatter(1, visible.unsqueeze(2).expand_as(known), known) + self.positions
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return [leave(pooled(x, level)) for level, leave in enumerate(self.leave)]


def pooled(x: torch.Tensor, level: int) -> torch.Tensor:
    """Features of a level: means over squares of 1, 4 or 16 patches. (samples, places, numbers)."""
    if level == 0:
        return x
    square = x.transpose(1, 2).unflatten(2, (grid, grid))
    return F.avg_pool2d(square, 2**level).flatten(2).transpose(1, 2)


class HJEPA(nn.Module):
    """Pictures and masks in; for each level predictions, targets and which places count out."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.context_encoder = Encoder(channels)
        self.predictor = Predictor()
        self.target_encoder = copy.deepcopy(self.context_encoder).requires_grad_(False)

    def features_of_all(self, pixels: torch.Tensor) -> torch.Tensor:
        """What the target encoder says of whole pictures. No gradient goes there: it only follows."""
        with torch.no_grad():
            return self.target_encoder(pixels)

    def targets(self, pixels: torch.Tensor) -> list[torch.Tensor]:
        """For each level what is to be predicted: features of unit length, less what all pictures have at that place.

        Where a patch lies is the same in every picture and the easiest thing to predict. Without the second step
        features would tell places apart and little else.
        """
        features = self.features_of_all(pixels)
        levels = [pooled(features, level) for level in range(LEVELS)]
        if not args.raw_targets:
            levels = [F.layer_norm(x, x.shape[-1:]) for x in levels]
        return [x - x.mean(dim=0, keepdim=True) for x in levels]

    def forward(self, pixels: torch.Tensor, masks: torch.Tensor) -> list[tuple[torch.Tensor, ...]]:
        # All pictures of a batch show equally many patches: as many as the one that shows fewest.
        keep = max(1, int((~masks).sum(dim=1).min()))
        by_chance = 0.5 * torch.rand(masks.shape).to(masks.device)
        visible = (masks + by_chance).argsort(dim=1)[:, :keep]
        predicted = self.predictor(self.context_encoder(pixels, visible), visible)
        count = [pooled(masks.float().unsqueeze(2), level).squeeze(2) >= 0.5 for level in range(LEVELS)]
        return list(zip(predicted, self.targets(pixels), count, strict=True))


torch.manual_seed(args.seed)
model = HJEPA(train_images.pixels.shape[1]).to(args.device)
optimizer = torch.optim.AdamW(
    [{"params": model.context_encoder.parameters()}, {"params": model.predictor.parameters()}],
    lr=args.learning_rate,
    weight_decay=args.weight_decay,
    betas=(0.9, 0.95),
)


def lr_at(step: int) -> float:
    """Up in a straight line, then down along a cosine to a hundredth."""
    if step < warmup_steps:
        return args.learning_rate * (step + 1) / warmup_steps
    done = (step - warmup_steps) / max(1, args.steps - warmup_steps)
    return args.learning_rate * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))


def ema_momentum(step: int) -> float:
    """From the first to the last in a straight line."""
    return args.ema_start + (args.ema_end - args.ema_start) * step / max(1, args.steps - 1)


@torch.no_grad()
def follow(step: int) -> None:
    """Move the target encoder a little towards the context encoder."""
    momentum = parts.extra["ema_momentum"](step)
    for target, context in zip(model.target_encoder.parameters(), model.context_encoder.parameters(), strict=True):
        target.mul_(momentum).add_(context, alpha=1 - momentum)


# ---- loss and evaluation

seen: dict[str, list[torch.Tensor]] = {}  # what the loss found out besides


def losses_of(levels: list[tuple[torch.Tensor, ...]]) -> list[torch.Tensor]:
    """The mean square error of each level, over hidden places."""
    losses = []
    for predicted, target, hidden in levels:
        error = (predicted - target).square().mean(dim=2)
        losses.append((error * hidden).sum() / hidden.sum().clamp(min=1))
    return losses


def loss_of(batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """The levels' losses, weighted."""
    levels = model(*batch)
    losses = losses_of(levels)
    seen["losses"] = [loss.detach() for loss in losses]
    seen["predicted"] = [predicted.detach()[hidden] for predicted, _, hidden in levels]
    seen["targets"] = [target.detach()[hidden] for _, target, hidden in levels]
    seen["variance"] = [target.detach().var(dim=(0, 1)).mean() for _, target, _ in levels]
    seen["batch"] = list(batch)
    weights = parts.extra["hierarchy_weights"]
    return sum(weight * loss for weight, loss in zip(weights, losses, strict=True))


val_masks = draw_masks(len(val_images), random_of(args.seed, 13))


@torch.no_grad()
def evaluate(step: int) -> dict[str, float]:
    """The losses on pictures that were not trained on, always under the same masks."""
    model.eval()
    with torch.random.fork_rng():  # the same chance each time, and none taken from the training
        torch.manual_seed(args.seed)
        losses = losses_of(model(val_images.pixels.to(args.device), val_masks.to(args.device)))
    model.train()
    return hierarchical_losses(losses, weights=args.hierarchy_weights, prefix="val")


@torch.no_grad()
def probe(encoder: nn.Module) -> float:
    """How well a linear model tells the classes apart, given an encoder's features of a picture: their mean.

    Least squares with a little shrinkage, from a few labelled pictures that the encoder never saw. Few, because with
    many even features of chance will do: what is asked is whether the classes lie in plain sight.
    """

    def features(images: Images) -> torch.Tensor:
        return torch.cat([encoder(pixels.to(args.device)).mean(dim=1).cpu() for pixels in images.pixels.split(500)])

    x, tests = (features(images).double().nan_to_num(0, 0, 0) for images in (probe_train, probe_test))
    middle, spread = x.mean(dim=0), x.std(dim=0) + 1e-6
    x, tests = (x - middle) / spread, (tests - middle) / spread
    wanted = F.one_hot(probe_train.labels, len(probe_train.names)).double()
    shrinkage = 1e-2 * len(x) * torch.eye(x.shape[1], dtype=x.dtype)
    weights = torch.linalg.solve(x.T @ x + shrinkage, x.T @ (wanted - wanted.mean(dim=0)))
    return ((tests @ weights + wanted.mean(dim=0)).argmax(dim=1) == probe_test.labels).double().mean().item()


# ---- the run

run = pb.init(
    dir=args.dir,
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
        "frozen": "target_encoder",  # it follows; no optimizer has it
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
parts = Parts(
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
        "after_step": follow,
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
    """What is worth a look from time to time: masks, predictions, collapse, the target's lag."""
    pixels, masks = seen["batch"]
    found = masking(masks)
    features = model.context_encoder(pixels)
    of_target = model.target_encoder(pixels)
    for level in range(LEVELS):
        found |= prediction(seen["predicted"][level], seen["targets"][level], level=level)
        found |= collapse(pooled(features, level), level=level)
        found |= hierarchy(pooled(of_target, level), level=level)
        # Features may shrink or grow, and the loss with them: beside their variance it can be compared.
        found[f"train/loss/relative_h{level}"] = seen["losses"][level] / seen["variance"][level]
    found |= ema(
        model.context_encoder.parameters(),
        model.target_encoder.parameters(),
        momentum=parts.extra["ema_momentum"](step),
        momentum_target=args.ema_end,
    )
    return found


# ---- the loop

began = time.perf_counter()
run.image("samples/train", sheet(train_images.pixels[:32]), step=parts.first_step)
for step in range(parts.first_step, parts.steps):
    parts.set_lr(parts.lr_at(step))
    parts.zero_grad()
    shown = parts.batch(step)
    loss = parts.loss(shown)
    parts.backward(loss)
    norm = parts.clip()
    if step % histogram_interval == 0:
        for name, p in model.named_parameters():
            if p.grad is not None:
                run.histogram(f"gradients/{name}_histogram", p.grad, step=step)
    parts.step()
    parts.extra["after_step"](step)

    last = step == parts.steps - 1
    logged = hierarchical_losses(seen["losses"], weights=parts.extra["hierarchy_weights"])
    logged["train/loss/total"] = loss.detach()
    logged["data/batch_checksum"] = batch_checksum(shown)
    logged |= convergence(seen["losses"])
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
        both = f"train/loss/total {loss.item():.3f}  val/loss/total {float(found['val/loss/total']):.3f}"
        print(f"step {step:5d}  {both}  {time.perf_counter() - began:.0f} s")
    parts.log(logged, step)
    if args.checkpoint_every and (step + 1) % args.checkpoint_every == 0:
        checkpoint.parent.mkdir(exist_ok=True)
        state = {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save(state, checkpoint.with_suffix(".part"))
        checkpoint.with_suffix(".part").replace(checkpoint)  # a job killed while writing keeps the old one

# ---- at the end: has it learned something?

learned, before, chance = probe(model.context_encoder), untrained["probe/accuracy"], untrained["probe/chance"]
print(f"linear probe: {learned:.3f}; before training {before:.3f}; by chance {chance:.3f}")
run.hparams(
    {"learning_rate": args.learning_rate, "ema_start": args.ema_start, "dim": args.dim, "batch_size": args.batch_size},
    {"probe/accuracy": learned},
)
watch.close()
run.finish()
