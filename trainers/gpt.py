"""Train a GPT-2-style language model, with the logging of a production training.

python trainers/gpt.py                                       # a minute on a laptop: 2 layers on Python's own manual
python trainers/gpt.py --text book.txt --tags lower          # your text; train/loss instead of Loss/train
python trainers/gpt.py --resume latest                       # after a crash: the same losses as without one
python trainers/gpt.py --fault lr-too-high                   # broken on purpose; see zoo/faults/
torchrun --standalone --nproc_per_node=4 trainers/gpt.py --n_layer 12 --n_head 12 --n_embd 768 --block_size 1024 \\
    --batch_size 16 --learning-rate 6e-4 --warmup_steps 700 --max_steps 20000 --text corpus.txt --compile
"""

import argparse
import math
import time
from pathlib import Path

import torch
from checkpoints import NOT_RESTORED, load_checkpoint, random_states, restore_random_state, save_checkpoint
from gpt_logging import LOWER, UPPER, WATCHED_OFTEN
from gpt_model import GPT, Block
from loop_parts import LoopParts, add_fault_argument, apply_fault, batch_checksum, config_of, find_fault, notes_of
from processes import join_processes, leave_processes
from text_data import TOKENIZERS, Windows, load_text
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

import pulseboard as pb
from pulseboard.instruments import Clipping

# ---- arguments


def arguments() -> argparse.ArgumentParser:
    """Every flag and its meaning."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    model = parser.add_argument_group("model: the defaults fit a laptop; GPT-2 has 12, 12, 768, 1024")
    model.add_argument("--n_layer", type=int, default=2)
    model.add_argument("--n_head", type=int, default=4)
    model.add_argument("--n_embd", type=int, default=64, help="embedding size")
    model.add_argument("--block_size", type=int, default=64, help="context length in tokens")
    model.add_argument("--dropout", type=float, default=0.0, help="0.1-0.2 for many epochs")
    data = parser.add_argument_group("data")
    data.add_argument("--text", metavar="FILE", help="any UTF-8 text (default: Python's reference manual)")
    data.add_argument("--tokenizer", choices=sorted(TOKENIZERS), default="char")
    data.add_argument("--batch_size", type=int, default=32, help="sequences per forward pass and process")
    data.add_argument("--grad_accum", type=int, default=1, help="forward passes per step, if memory is short")
    data.add_argument("--seed", type=int, default=0, help="of weights, data order, dropout and samples")
    optimization = parser.add_argument_group("optimization")
    optimization.add_argument("--max_steps", type=int, default=500)
    optimization.add_argument(
        "--learning-rate",
        "--learning_rate",
        type=float,
        help="the peak (3e-3 for adamw, 0.3 for sgd); wide models need less",
    )
    optimization.add_argument(
        "--min_lr_share", type=float, default=0.1, help="final rate of the cosine, as a share of the peak"
    )
    optimization.add_argument(
        "--warmup_steps", type=int, default=40, help="linear rise from 0: Adam's first steps are erratic"
    )
    optimization.add_argument("--constant_lr", action="store_true", help="no cosine after the warm-up")
    optimization.add_argument("--optimizer", choices=["adamw", "sgd"], default="adamw")
    optimization.add_argument("--weight_decay", type=float, help="of matrices only (0.1 for adamw, 1e-4 for sgd)")
    optimization.add_argument("--grad_clip", type=float, default=1.0, help="maximum gradient norm; 0: no clipping")
    machine = parser.add_argument_group("machine")
    machine.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    machine.add_argument(
        "--dtype",
        choices=["float32", "bfloat16", "float16"],
        help="of matrix products (GPU: bfloat16 if supported, else float16 with a loss scale; CPU: float32)",
    )
    machine.add_argument("--compile", action="store_true", help="torch.compile: slow start, fast steps")
    logging = parser.add_argument_group("logging")
    logging.add_argument("--use_tensorboard", action=argparse.BooleanOptionalAction, default=True)
    logging.add_argument(
        "--report_to", nargs="*", default=["tensorboard"], help="also wandb, aim, mlflow, json, console"
    )
    logging.add_argument("--tensorboard_dir", default="runs", help="log directory")
    logging.add_argument("--run_name", help="name of the run's directory instead of <date>_<number>")
    logging.add_argument("--run-tag", "--run_tag", help="appended to the number: 2026-02-10_012-<tag>")
    logging.add_argument("--tags", choices=["upper", "lower"], default="upper", help="Loss/train or train/loss")
    logging.add_argument("--log_every", type=int, default=1, help="steps between losses")
    logging.add_argument(
        "--watch_every", type=int, default=10, help="steps between update ratios, parameter norms, and so on"
    )
    logging.add_argument("--watch_overhead", help="limit such as 1%%: expensive measurements run less often")
    logging.add_argument("--histogram-interval", "--histogram_interval", type=int, default=1000, help="0: none")
    logging.add_argument(
        "--telemetry_secs", type=float, default=1.0, help="between samples of memory, GPU and host; 0: none"
    )
    logging.add_argument("--quiet", action="store_true", help="print nothing")
    evaluation = parser.add_argument_group("evaluation")
    evaluation.add_argument(
        "--eval_freq", "--eval-interval", "--eval_interval", type=int, default=50, help="steps between evaluations"
    )
    evaluation.add_argument("--eval_iters", type=int, default=8, help="batches per evaluation, always the same ones")
    evaluation.add_argument("--sample_length", type=int, default=160, help="tokens of a generated sample; 0: none")
    evaluation.add_argument("--hellaswag", metavar="FILE", help="JSONL of rowanz/hellaswag")
    evaluation.add_argument("--hellaswag_limit", type=int, default=200, help="questions per evaluation")
    checkpoints = parser.add_argument_group("checkpoints")
    checkpoints.add_argument("--checkpoint_freq", type=int, default=100, help="steps between checkpoints; 0: none")
    checkpoints.add_argument("--keep_checkpoints", type=int, default=2, help="older ones are removed")
    checkpoints.add_argument("--resume", metavar="latest|PATH", help="latest, a checkpoint, or a run's directory")
    add_fault_argument(parser, base="gpt")
    return parser


def parse(argv: list[str] | None, parser: argparse.ArgumentParser) -> tuple[argparse.Namespace, dict | None]:
    """The arguments. On resume, the defaults are those of the checkpoint."""
    args = parser.parse_args(argv)
    if args.resume is None:
        return args, None
    program = vars(args).get("program", "gpt")  # train.py and train_improved.py set it
    checkpoint = load_checkpoint(Path(args.tensorboard_dir), args.resume, trainer="gpt", program=program)
    parser.set_defaults(**checkpoint["args"])
    return parser.parse_args(argv), checkpoint


# ---- the training


def main(argv: list[str] | None = None, *, parser: argparse.ArgumentParser | None = None) -> LoopParts:
    """Train from start to end. `parser` has the flags of `arguments`, with other defaults."""
    args, checkpoint = parse(argv, parser or arguments())
    tags = UPPER if args.tags == "upper" else LOWER
    if args.learning_rate is None:
        args.learning_rate = 3e-3 if args.optimizer == "adamw" else 0.3
    if args.weight_decay is None:
        args.weight_decay = 0.1 if args.optimizer == "adamw" else 1e-4
    if args.fault:
        find_fault(args.fault, base="gpt")  # exits for an unknown name, before a run starts

    # ---- processes and devices

    rank, world_size, device, own_group = join_processes(args.device)
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
    train_sample = Windows(text.train, args.block_size, args.batch_size, seed=args.seed + 2)
    tokens_per_step = rows * args.block_size * world_size
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

    # ---- the run: a new one, or that of the checkpoint unless another name is given

    resumes = checkpoint is not None and checkpoint["run"] and args.run_name in (None, checkpoint["run"])
    config = config_of(args) | {
        "trainer": "gpt",
        "vocab_size": text.tokenizer.size,
        "unigram_entropy": text.unigram_entropy,
        "train_tokens": len(text.train),
        "val_tokens": len(text.val),
        "tokens_a_step": tokens_per_step,
        "parameters": sum(p.numel() for p in raw.parameters()),
        "lr_schedule": "constant" if args.constant_lr else "warm-up and cosine",
        "world_size": world_size,
    }
    run = pb.init(
        dir=checkpoint["runs"] if resumes else args.tensorboard_dir,
        run_id=None if resumes else args.run_name,
        run_tag=None if resumes else args.run_tag,
        resume=checkpoint["run"] if resumes else None,
        config=config,
        notes=notes_of(args),
        report_to=args.report_to if args.use_tensorboard else [],
        histogram_interval=args.histogram_interval,
        telemetry_secs=args.telemetry_secs,
    )

    # ---- the parts of the loop

    def lr_at(step: int) -> float:
        if step < args.warmup_steps:
            return args.learning_rate * (step + 1) / args.warmup_steps
        if args.constant_lr:
            return args.learning_rate
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
        # The same batch twice: if the losses differ, evaluation is not deterministic.
        values["probe/eval_twice"] = abs(loss_on(held_out.batch(0)) - loss_on(held_out.batch(0)))
        if args.tags == "lower":
            values["eval/train_loss"] = mean_loss(train_sample)
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
        tokens = raw.generate(start, args.sample_length, temperature=0.8, random=random)
        raw.train()
        prompt_length = start.shape[1]
        prompt, generated = tokens[:prompt_length], tokens[prompt_length:]
        return f"**{text.tokenizer.decode(prompt)}**{text.tokenizer.decode(generated)}"

    parts = LoopParts(
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

    # ---- measurements that need no change of the loop

    watch = pb.watch(
        model,
        parts.optimizer,
        run=run,
        clip_norm=parts.clip_norm,
        overhead=args.watch_overhead,
        every=dict.fromkeys(WATCHED_OFTEN, args.watch_every),
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
        torch.manual_seed(args.seed * 1000 + rank)  # dropout differs between ranks; the initial weights do not
    report = print if rank == 0 and not args.quiet else lambda *_: None
    report(
        f"{config['parameters']:,} parameters, {len(text.train):,} tokens, steps {first_step}-{parts.steps} on {device}"
    )

    def evaluate_and_log(step: int) -> None:
        values = parts.evaluate(step)
        first = {tags["val_loss"]: values[tags["val_loss"]]} if step == 0 else {}
        if first:
            run.hparams(config, first)  # also logs the value that runs are compared by
        parts.log({tag: value for tag, value in values.items() if tag not in first}, step)
        if args.sample_length:
            run.text(tags["samples"], sample(step), step=step)
        report(f"step {step:6d} | " + " | ".join(f"{tag} {value:.4f}" for tag, value in values.items()))

    for step in range(parts.first_step, parts.steps):
        if step % args.eval_freq == 0 and rank == 0:
            evaluate_and_log(step)
        started_at = time.perf_counter()
        lr = parts.lr_at(step)
        parts.set_lr(lr)
        parts.zero_grad()
        batch = parts.batch(step)
        checksum = batch_checksum(batch)
        loss = torch.zeros((), device=device)
        micro_batches = list(zip(*(part.chunk(args.grad_accum) for part in batch), strict=True))
        for i, micro_batch in enumerate(micro_batches):
            if world_size > 1:  # ranks synchronize once per step, after the last micro-batch
                model.require_backward_grad_sync = i == len(micro_batches) - 1
            micro_loss = parts.loss(micro_batch) / len(micro_batches)
            parts.backward(micro_loss)
            loss += micro_loss.detach()
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
        step_secs = time.perf_counter() - started_at

        clipped = clipping(norm)
        if step % args.log_every == 0 or step == parts.steps - 1:
            values = {
                tags["loss"]: loss,
                tags["lr"]: lr,
                tags["norm"]: clipped["train/gradient/global_norm_after_clip"],
                tags["step_time"]: 1000 * step_secs,
                tags["tokens_per_sec"]: batch[0].numel() * world_size / step_secs,
                tags["epoch"]: int(order.epoch(step)) if getattr(args, "whole_epochs", False) else order.epoch(step),
                tags["batch"]: checksum,
                **clipped,
            }
            if scaler is not None:
                values |= {"amp/loss_scale": scaler.get_scale(), "amp/skipped_steps": skipped_steps}
            parts.log(values, step)
        if step % 10 == 0:
            ms = 1000 * step_secs
            report(f"step {step:6d} | loss {float(loss):.4f} | norm {float(norm):.3f} | lr {lr:.2e} | {ms:.0f} ms")

        done = step + 1
        if args.checkpoint_freq and (done % args.checkpoint_freq == 0 or done == parts.steps):
            random = random_states(kind, world_size=world_size)  # on every rank
            if rank == 0:
                state = {
                    "trainer": "gpt",
                    "step": done,  # also determines the position in the data
                    "args": {name: value for name, value in config_of(args).items() if name not in NOT_RESTORED},
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
    leave_processes(world_size, own_group=own_group)
    return parts


if __name__ == "__main__":
    main()
