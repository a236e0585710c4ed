"""Train a GPT-2-style language model, and log it as people do who watch their training.

python trainers/gpt.py                                       # a minute on a laptop: 2 layers on Python's own manual
python trainers/gpt.py --text book.txt --tags lower          # your text; train/loss in the place of Loss/train
python trainers/gpt.py --resume latest                       # after a crash: the same losses as without it
python trainers/gpt.py --fault lr-too-high                   # broken on purpose: see zoo/faults/
torchrun --standalone --nproc_per_node=4 trainers/gpt.py --n_layer 12 --n_head 12 --n_embd 768 --block_size 1024 \\
    --batch_size 16 --learning-rate 6e-4 --warmup_steps 700 --max_steps 20000 --text corpus.txt --compile
"""

import argparse
import math
import os
import time
from pathlib import Path

import torch
from parts import Parts, add_fault_argument, apply_fault, batch_checksum, config_of, find_fault, notes_of
from text import TOKENIZERS, Windows, load_text
from torch import distributed, nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

import pulseboard as pb
from pulseboard.instruments.clipping import Clipping

# ---- the model: GPT-2, with its names


class Attention(nn.Module):
    """Each token looks at itself and those before it."""

    def __init__(self, n_embd: int, n_head: int, dropout: float) -> None:
        super().__init__()
        self.n_head, self.dropout = n_head, dropout
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.resid_dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, length, width = x.shape
        parts = self.c_attn(x).split(width, dim=2)
        query, key, value = (p.view(rows, length, self.n_head, -1).transpose(1, 2) for p in parts)
        dropout = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True, dropout_p=dropout)
        return self.resid_dropout(self.c_proj(mixed.transpose(1, 2).reshape(rows, length, width)))


class MLP(nn.Module):
    """Four times as wide inside, unless told."""

    def __init__(self, n_embd: int, dropout: float, width: int | None = None) -> None:
        super().__init__()
        self.c_fc = nn.Linear(n_embd, width or 4 * n_embd)
        self.act = nn.GELU(approximate="tanh")
        self.c_proj = nn.Linear(width or 4 * n_embd, n_embd)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.dropout(self.c_proj(self.act(self.c_fc(x))))


class Block(nn.Module):
    """Attention and a feed-forward part, each added to what came in."""

    def __init__(self, n_embd: int, n_head: int, dropout: float, mlp: nn.Module | None = None) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(n_embd)
        self.attn = Attention(n_embd, n_head, dropout)
        self.ln_2 = nn.LayerNorm(n_embd)
        self.mlp = mlp or MLP(n_embd, dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    """Tokens in, the logits of the token after each out; with targets, the loss too."""

    def __init__(self, *, vocab_size: int, block_size: int, n_embd: int, dropout: float, blocks: list[Block]) -> None:
        super().__init__()
        self.block_size = block_size
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(vocab_size, n_embd),
                "wpe": nn.Embedding(block_size, n_embd),
                "drop": nn.Dropout(dropout),
                "h": nn.ModuleList(blocks),
                "ln_f": nn.LayerNorm(n_embd),
            }
        )
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.lm_head.weight = self.transformer["wte"].weight  # tied, as in GPT-2
        std = 0.02 * math.sqrt(768 / n_embd)  # GPT-2's 0.02 at its own width
        for name, parameter in self.named_parameters():
            if name.endswith("c_proj.weight"):  # into the residual stream, whose variance shall not grow with depth
                nn.init.normal_(parameter, std=std / math.sqrt(2 * len(blocks)))
            elif parameter.dim() >= 2:
                nn.init.normal_(parameter, std=std)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(
        self, tokens: torch.Tensor, targets: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.transformer["drop"](self.transformer["wte"](tokens) + self.transformer["wpe"](places))
        for block in self.transformer["h"]:
            x = block(x)
        logits = self.lm_head(self.transformer["ln_f"](x))
        if targets is None:
            return logits, None
        return logits, functional.cross_entropy(logits.float().flatten(0, 1), targets.flatten())

    @torch.no_grad()
    def generate(self, tokens: torch.Tensor, count: int, *, temperature: float, random: torch.Generator) -> list[int]:
        """Go on with the tokens of one row; `random` draws, so that training's own random numbers stay as they are."""
        for _ in range(count):
            logits = self(tokens[:, -self.block_size :])[0][0, -1].float().cpu()
            chances = torch.softmax(torch.nan_to_num(logits) / temperature, dim=-1)
            tokens = torch.cat([tokens, torch.multinomial(chances, 1, generator=random)[None].to(tokens.device)], dim=1)
        return tokens[0].tolist()


# ---- the names of what is logged, in the two styles that people's dashboards have

UPPER = {
    "loss": "Loss/train",
    "val_loss": "Loss/validation",
    "lr": "Learning_Rate/lr",
    "norm": "Gradient/norm",
    "step_time": "Performance/step_time_ms",
    "tokens_per_sec": "Performance/tokens_per_sec",
    "epoch": "Training/epoch",
    "batch": "Data/batch_checksum",
    "hellaswag": "Evaluation/hellaswag_accuracy",
    "samples": "Generated_Samples/text",
}
LOWER = {
    "loss": "train/loss",
    "val_loss": "eval/val_loss",
    "lr": "train/learning_rate",
    "norm": "train/grad_norm",
    "step_time": "performance/step_time_ms",
    "tokens_per_sec": "performance/tokens_per_sec",
    "epoch": "train/epoch",
    "batch": "data/batch_checksum",
    "hellaswag": "eval/hellaswag_accuracy",
    "samples": "samples/text",
}

# What pb.watch measures at every --watch_every-th step; gradient norms it takes at every one.
OFTEN = ("gradient_flow", "parameter_norm", "update", "sparsity", "performance", "learning_rate", "checksum")

# ---- arguments


def arguments() -> argparse.ArgumentParser:
    """Every flag, with what it does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    model = parser.add_argument_group("model: the defaults are small enough for a laptop; GPT-2 is 12, 12, 768, 1024")
    model.add_argument("--n_layer", type=int, default=2)
    model.add_argument("--n_head", type=int, default=4)
    model.add_argument("--n_embd", type=int, default=64, help="width of a token's vector")
    model.add_argument("--block_size", type=int, default=64, help="how many tokens the model sees at once")
    model.add_argument("--dropout", type=float, default=0.0, help="0.1-0.2 where the text is seen many times")
    data = parser.add_argument_group("data")
    data.add_argument("--text", metavar="FILE", help="any UTF-8 text; Python's reference manual where none is given")
    data.add_argument("--tokenizer", choices=sorted(TOKENIZERS), default="char")
    data.add_argument("--batch_size", type=int, default=32, help="rows of one forward pass of one process")
    data.add_argument("--grad_accum", type=int, default=1, help="forward passes of a step: a batch larger than memory")
    data.add_argument("--seed", type=int, default=0, help="of weights, order of data, dropout and samples")
    optimisation = parser.add_argument_group("optimisation")
    optimisation.add_argument("--max_steps", type=int, default=500)
    optimisation.add_argument(
        "--learning-rate",
        "--learning_rate",
        type=float,
        help="the peak: 3e-3 for adamw, 0.3 for sgd; wide models want less",
    )
    optimisation.add_argument(
        "--min_lr_share", type=float, default=0.1, help="where cosine ends, as a share of the peak"
    )
    optimisation.add_argument(
        "--warmup_steps", type=int, default=40, help="linear rise from 0: Adam's first steps are wild"
    )
    optimisation.add_argument("--optimizer", choices=["adamw", "sgd"], default="adamw")
    optimisation.add_argument("--weight_decay", type=float, help="of matrices only: 0.1 for adamw, 1e-4 for sgd")
    optimisation.add_argument("--grad_clip", type=float, default=1.0, help="largest gradient norm; 0: no clipping")
    machine = parser.add_argument_group("machine")
    machine.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    machine.add_argument(
        "--dtype",
        choices=["float32", "bfloat16", "float16"],
        help="of matrix products; on a GPU bfloat16 where it can, else float16 with a loss scale; float32 on a CPU",
    )
    machine.add_argument("--compile", action="store_true", help="torch.compile: slow start, fast steps")
    logging = parser.add_argument_group("logging")
    logging.add_argument("--use_tensorboard", action=argparse.BooleanOptionalAction, default=True)
    logging.add_argument("--tensorboard_dir", default="runs", help="below which the run's directory is made")
    logging.add_argument("--run_name", help="the directory's name, in the place of <date>_<number>")
    logging.add_argument("--run-tag", "--run_tag", help="what follows the number: 2026-02-10_012-<tag>")
    logging.add_argument("--tags", choices=["upper", "lower"], default="upper", help="Loss/train, or train/loss")
    logging.add_argument("--log_every", type=int, default=1, help="steps between losses")
    logging.add_argument(
        "--watch_every", type=int, default=10, help="steps between update ratios, parameter norms, ..."
    )
    logging.add_argument("--watch_overhead", help="such as 1%%: measure less often where it would cost more")
    logging.add_argument("--histogram-interval", "--histogram_interval", type=int, default=1000, help="0: none")
    logging.add_argument(
        "--telemetry_secs", type=float, default=1.0, help="between samples of memory, GPU, host; 0: none"
    )
    logging.add_argument("--quiet", action="store_true", help="print nothing")
    evaluation = parser.add_argument_group("evaluation")
    evaluation.add_argument("--eval_freq", type=int, default=50, help="steps between evaluations")
    evaluation.add_argument("--eval_iters", type=int, default=8, help="batches of one evaluation, always the same ones")
    evaluation.add_argument("--sample_length", type=int, default=160, help="tokens of a generated text; 0: none")
    evaluation.add_argument("--hellaswag", metavar="FILE", help="JSONL of rowanz/hellaswag")
    evaluation.add_argument("--hellaswag_limit", type=int, default=200, help="questions an evaluation")
    checkpoints = parser.add_argument_group("checkpoints")
    checkpoints.add_argument("--checkpoint_freq", type=int, default=100, help="steps between checkpoints; 0: none")
    checkpoints.add_argument("--keep_checkpoints", type=int, default=2, help="older ones are removed")
    checkpoints.add_argument(
        "--resume", metavar="latest|PATH", help="a checkpoint, a run's directory, or the latest one"
    )
    add_fault_argument(parser, base="gpt")
    return parser


def parse(argv: list[str] | None, parser: argparse.ArgumentParser) -> tuple[argparse.Namespace, dict | None]:
    """The arguments; on resuming those of the checkpoint, unless they are given anew."""
    args = parser.parse_args(argv)
    if args.resume is None:
        return args, None
    checkpoint = load_checkpoint(Path(args.tensorboard_dir), args.resume)
    parser.set_defaults(**checkpoint["args"])
    return parser.parse_args(argv), checkpoint


# ---- checkpoints: everything the next step depends on

OF_THIS_START = ("resume", "run_name", "run_tag", "tensorboard_dir", "quiet", "device")  # not taken from a checkpoint


def find_checkpoint(runs: Path, which: str) -> Path:
    """The newest checkpoint of all runs ('latest') or of one run's directory; or the file itself."""
    if which != "latest" and Path(which).is_file():
        return Path(which)
    below = runs if which == "latest" else Path(which) if Path(which).is_dir() else runs / which
    found = sorted(below.glob("**/checkpoints/step_*.pt"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    if not found:
        raise SystemExit(f"There is no checkpoint to resume from (checkpoints/step_*.pt). Looked below {below}")
    return found[-1]


def load_checkpoint(runs: Path, which: str) -> dict:
    """The checkpoint, and where its run is: `runs` and `run`, which is None where it lies in no run's directory."""
    path = find_checkpoint(runs, which).absolute()
    run = path.parents[1]
    checkpoint = torch.load(path, map_location="cpu", weights_only=False)
    return checkpoint | {"runs": run.parent, "run": run.name if (run / "run.json").is_file() else None}


def random_state(kind: str) -> list[torch.Tensor]:
    """Where the random numbers of this process are, which dropout draws."""
    return [torch.get_rng_state(), *([torch.cuda.get_rng_state()] if kind == "cuda" else [])]


def restore_random_state(state: list[torch.Tensor]) -> None:
    """Go on there."""
    torch.set_rng_state(state[0])
    if len(state) > 1 and torch.cuda.is_available():
        torch.cuda.set_rng_state(state[1])


def save_checkpoint(directory: Path, state: dict, *, keep: int) -> None:
    """Write beside and rename: a job killed in the middle leaves the checkpoint before whole."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"step_{state['step']:08d}.pt"
    part = path.with_suffix(".part")
    torch.save(state, part)
    os.replace(part, path)
    for old in sorted(directory.glob("step_*.pt"))[:-keep]:
        old.unlink()


# ---- the training


def main(argv: list[str] | None = None) -> Parts:
    """Train from start to end."""
    args, checkpoint = parse(argv, arguments())
    tags = UPPER if args.tags == "upper" else LOWER
    if args.learning_rate is None:
        args.learning_rate = 3e-3 if args.optimizer == "adamw" else 0.3
    if args.weight_decay is None:
        args.weight_decay = 0.1 if args.optimizer == "adamw" else 1e-4
    if args.fault:
        find_fault(args.fault, base="gpt")  # a wrong name ends here, before a run is begun

    # ---- processes and devices

    rank, world_size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    device = args.device
    if world_size > 1:
        if device == "cuda":
            device = f"cuda:{os.environ['LOCAL_RANK']}"
            torch.cuda.set_device(device)
        if own_group := not distributed.is_initialized():
            distributed.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    kind = device.split(":")[0]
    if args.dtype is None:
        on_gpu = "bfloat16" if kind == "cuda" and torch.cuda.is_bf16_supported() else "float16"
        args.dtype = on_gpu if kind == "cuda" else "float32"
    autocast = torch.autocast(kind, dtype=getattr(torch, args.dtype), enabled=args.dtype != "float32")
    torch.set_float32_matmul_precision("high")
    torch.manual_seed(args.seed)

    # ---- data

    text = load_text(args.text, tokenizer=args.tokenizer)
    rows = args.batch_size * args.grad_accum
    order = Windows(text.train, args.block_size, rows, seed=args.seed, rank=rank, world_size=world_size)
    held_out = Windows(text.val, args.block_size, args.batch_size, seed=args.seed + 1)
    same_kind = Windows(text.train, args.block_size, args.batch_size, seed=args.seed + 2)
    tokens_a_step = rows * args.block_size * world_size
    questions = None
    if args.hellaswag:
        from hellaswag import hellaswag_accuracy, load_hellaswag

        questions = load_hellaswag(args.hellaswag, limit=args.hellaswag_limit)

    # ---- model and optimizer

    raw = GPT(
        vocab_size=text.tokenizer.size,
        block_size=args.block_size,
        n_embd=args.n_embd,
        dropout=args.dropout,
        blocks=[Block(args.n_embd, args.n_head, args.dropout) for _ in range(args.n_layer)],
    ).to(device)
    matrices = [p for p in raw.parameters() if p.dim() >= 2]
    others = [p for p in raw.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": args.weight_decay}, {"params": others, "weight_decay": 0.0}]
    if args.optimizer == "adamw":
        optimizer = torch.optim.AdamW(groups, lr=args.learning_rate, betas=(0.9, 0.95), fused=kind == "cuda")
    else:
        optimizer = torch.optim.SGD(groups, lr=args.learning_rate, momentum=0.9)
    scaler = torch.amp.GradScaler(kind) if args.dtype == "float16" else None
    first_step = 0
    if checkpoint is not None:
        raw.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        if scaler is not None and checkpoint["scaler"]:
            scaler.load_state_dict(checkpoint["scaler"])
        first_step = checkpoint["step"]
    model = torch.compile(raw) if args.compile else raw
    if world_size > 1:
        model = DistributedDataParallel(model)

    # ---- the run: new, or the one of the checkpoint unless another name is wanted

    goes_on = checkpoint is not None and checkpoint["run"] and args.run_name in (None, checkpoint["run"])
    config = config_of(args) | {
        "trainer": "gpt",
        "vocab_size": text.tokenizer.size,
        "unigram_entropy": text.unigram_entropy,
        "train_tokens": len(text.train),
        "val_tokens": len(text.val),
        "tokens_a_step": tokens_a_step,
        "parameters": sum(p.numel() for p in raw.parameters()),
        "lr_schedule": "warm-up and cosine",
        "world_size": world_size,
    }
    run = pb.init(
        dir=checkpoint["runs"] if goes_on else args.tensorboard_dir,
        run_id=None if goes_on else args.run_name,
        run_tag=None if goes_on else args.run_tag,
        resume=checkpoint["run"] if goes_on else None,
        config=config,
        notes=notes_of(args),
        report_to=["tensorboard"] if args.use_tensorboard else [],
        histogram_interval=args.histogram_interval,
        telemetry_secs=args.telemetry_secs,
    )

    # ---- the parts of the loop

    def lr_at(step: int) -> float:
        if step < args.warmup_steps:
            return args.learning_rate * (step + 1) / args.warmup_steps
        progress = (step - args.warmup_steps) / max(1, args.max_steps - args.warmup_steps)
        cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))
        return args.learning_rate * (args.min_lr_share + (1 - args.min_lr_share) * cosine)

    def loss_of(batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        x, y = (part.to(device, non_blocking=True) for part in batch)
        with autocast:
            return model(x, y)[1]

    def logits_of(tokens: torch.Tensor) -> torch.Tensor:
        with autocast:
            return raw(tokens.to(device))[0]

    def loss_on(batch: tuple[torch.Tensor, torch.Tensor]) -> float:
        x, y = (part.to(device) for part in batch)
        with autocast:
            return float(raw(x, y)[1])

    def mean_loss(windows: Windows) -> float:
        return sum(loss_on(windows.batch(i)) for i in range(args.eval_iters)) / args.eval_iters

    @torch.no_grad()
    def evaluate(step: int) -> dict[str, float]:
        raw.eval()
        values = {tags["val_loss"]: mean_loss(held_out)}
        # One batch twice: if the two differ, evaluation is not what it says.
        values["probe/eval_twice"] = abs(loss_on(held_out.batch(0)) - loss_on(held_out.batch(0)))
        if args.tags == "lower":
            values["eval/train_loss"] = mean_loss(same_kind)
            values["eval/learning_rate"] = parts.lr_at(min(step, args.max_steps - 1))
        if questions is not None:
            values[tags["hellaswag"]] = hellaswag_accuracy(
                logits_of, questions, text.tokenizer.encode, block_size=args.block_size
            )
        raw.train()
        return values

    def sample(step: int) -> str:
        raw.eval()
        start = held_out.batch(0)[0][:1, : args.block_size // 2].to(device)
        random = torch.Generator().manual_seed(args.seed)
        told = raw.generate(start, args.sample_length, temperature=0.8, random=random)
        raw.train()
        known = start.shape[1]
        return f"**{text.tokenizer.decode(told[:known])}**{text.tokenizer.decode(told[known:])}"

    parts = Parts(
        base="gpt",
        args=args,
        run=run,
        model=model,
        optimizer=optimizer,
        steps=args.max_steps,
        lr_at=lr_at,
        batch=order.batch,
        loss=loss_of,
        evaluate=evaluate,
        first_step=first_step,
        clip_norm=args.grad_clip or None,
        log=run.log,
        extra={"scaler": scaler, "raw_model": raw, "text": text, "windows": order, "held_out": held_out, "tags": tags},
    )
    apply_fault(parts)
    run.update_config(trainable_parameters=sum(p.numel() for p in raw.parameters() if p.requires_grad))

    # ---- measurements from outside the loop

    watch = pb.watch(
        model,
        parts.optimizer,
        run=run,
        clip_norm=parts.clip_norm,
        overhead=args.watch_overhead,
        every=dict.fromkeys(OFTEN, args.watch_every),
        histogram_interval=args.histogram_interval,
        histogram_tags=("Parameters/{name}", "Gradients/{name}") if args.tags == "upper" else ("{name}", "{name}.grad"),
        start_step=first_step,
    )
    clipping = Clipping(parts.clip_norm or math.inf)
    scaler = parts.extra["scaler"]
    skipped_steps = 0

    # ---- the loop

    if checkpoint is not None:
        restore_random_state(checkpoint["random"][rank % len(checkpoint["random"])])
        clipping.steps, clipping._clipped = checkpoint["clipping"]
        skipped_steps = checkpoint["skipped_steps"]
    else:
        torch.manual_seed(args.seed * 1000 + rank)  # dropout differs between ranks; the weights did not
    say = print if rank == 0 and not args.quiet else lambda *_: None
    say(
        f"{config['parameters']:,} parameters, {len(text.train):,} tokens, steps {first_step}-{parts.steps} on {device}"
    )

    def evaluate_and_log(step: int) -> None:
        values = parts.evaluate(step)
        first = {tags["val_loss"]: values[tags["val_loss"]]} if step == 0 else {}
        if first:
            run.hparams(config, first)  # it logs the number that runs are compared by
        parts.log({tag: value for tag, value in values.items() if tag not in first}, step)
        if args.sample_length:
            run.text(tags["samples"], sample(step), step=step)
        say(f"step {step:6d} | " + " | ".join(f"{tag} {value:.4f}" for tag, value in values.items()))

    for step in range(parts.first_step, parts.steps):
        if step % args.eval_freq == 0 and rank == 0:
            evaluate_and_log(step)
        began = time.perf_counter()
        lr = parts.lr_at(step)
        parts.set_lr(lr)
        parts.zero_grad()
        batch = parts.batch(step)
        checksum = batch_checksum(batch)
        loss = torch.zeros((), device=device)
        pieces = list(zip(*(part.chunk(args.grad_accum) for part in batch), strict=True))
        for i, piece in enumerate(pieces):
            if world_size > 1:  # ranks meet once a step, after the last piece
                model.require_backward_grad_sync = i == len(pieces) - 1
            piece_loss = parts.loss(piece) / len(pieces)
            parts.backward(piece_loss)
            loss += piece_loss.detach()
        norm = parts.clip()
        scale = scaler.get_scale() if scaler is not None else 0.0
        parts.step()
        if scaler is not None and scaler.get_scale() < scale:
            skipped_steps += 1
        if world_size > 1:
            distributed.all_reduce(loss)
            loss /= world_size
        if kind == "cuda":
            torch.cuda.synchronize()
        step_secs = time.perf_counter() - began

        clipped = clipping(norm)
        if step % args.log_every == 0 or step == parts.steps - 1:
            values = {
                tags["loss"]: loss,
                tags["lr"]: lr,
                tags["norm"]: clipped["train/gradient/global_norm_after_clip"],
                tags["step_time"]: 1000 * step_secs,
                tags["tokens_per_sec"]: batch[0].numel() * world_size / step_secs,
                tags["epoch"]: order.epoch(step),
                tags["batch"]: checksum,
                **clipped,
            }
            if scaler is not None:
                values |= {"amp/loss_scale": scaler.get_scale(), "amp/skipped_steps": skipped_steps}
            parts.log(values, step)
        if step % 10 == 0:
            ms = 1000 * step_secs
            say(f"step {step:6d} | loss {float(loss):.4f} | norm {float(norm):.3f} | lr {lr:.2e} | {ms:.0f} ms")

        done = step + 1
        if args.checkpoint_freq and (done % args.checkpoint_freq == 0 or done == parts.steps):
            random = [random_state(kind)]
            if world_size > 1:
                random *= world_size
                distributed.all_gather_object(random, random_state(kind))
            if rank == 0:
                state = {
                    "step": done,  # also the place in the data: the order of windows follows from it
                    "args": {name: value for name, value in config_of(args).items() if name not in OF_THIS_START},
                    "model": raw.state_dict(),
                    "optimizer": parts.optimizer.state_dict(),
                    "scaler": scaler.state_dict() if scaler is not None else None,
                    "random": random,
                    "clipping": (clipping.steps, clipping._clipped),
                    "skipped_steps": skipped_steps,
                }
                save_checkpoint(run.directory / "checkpoints", state, keep=args.keep_checkpoints)

    if rank == 0:
        evaluate_and_log(parts.steps)
    watch.close()
    run.finish()
    if world_size > 1:
        distributed.barrier()
        if own_group:
            distributed.destroy_process_group()
    return parts


if __name__ == "__main__":
    main()
