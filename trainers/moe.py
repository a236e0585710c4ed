"""Train a mixture-of-experts language model, with a console and a JSON log like Surogate's.

python trainers/moe.py trainers/moe.yaml                     # a minute on a laptop; the file sets report_to
python trainers/moe.py trainers/moe.yaml --aux_weight 0      # flags override the file
python trainers/moe.py --fault router-collapse               # broken on purpose; see zoo/faults/
torchrun --standalone --nproc_per_node=8 trainers/moe.py big.yaml --n_layer 12 --n_head 12 --n_embd 768 \\
    --block_size 1024 --n_experts 64 --batch_size 16 --learning-rate 4e-4 --text corpus.txt
"""

import argparse
import math
import time
from pathlib import Path
from types import SimpleNamespace

import torch
import yaml
from checkpoints import NOT_RESTORED, load_checkpoint, random_states, restore_random_state, save_checkpoint
from gpt_logging import WATCHED_OFTEN
from gpt_model import GPT, Block
from loop_parts import LoopParts, add_fault_argument, apply_fault, batch_checksum, config_of, find_fault, notes_of
from moe_hardware import log_gpu_model, log_gpu_state, measured_peak
from moe_model import Experts
from processes import join_processes, leave_processes
from text_data import TOKENIZERS, Windows, load_text
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

import pulseboard as pb
from pulseboard import instruments

# ---- arguments: flags override the YAML file, which overrides defaults


def arguments() -> argparse.ArgumentParser:
    """Every flag and its meaning."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", nargs="?", help="YAML: report_to, log_file, verbosity, and any flag below")
    model = parser.add_argument_group("model")
    model.add_argument("--n_layer", type=int, default=2)
    model.add_argument("--n_head", type=int, default=4)
    model.add_argument("--n_embd", type=int, default=64)
    model.add_argument("--block_size", type=int, default=64)
    model.add_argument("--dropout", type=float, default=0.0)
    model.add_argument("--n_experts", type=int, default=8, help="per layer")
    model.add_argument("--top_k", type=int, default=2, help="experts per token")
    model.add_argument("--capacity_factor", type=float, default=2.0, help="of an expert, relative to an even load")
    model.add_argument("--aux_weight", type=float, default=0.01, help="of the load-balancing loss")
    model.add_argument("--z_weight", type=float, default=0.001, help="of the loss that keeps router logits small")
    data = parser.add_argument_group("data")
    data.add_argument("--text", metavar="FILE", help="any UTF-8 text (default: Python's reference manual)")
    data.add_argument("--tokenizer", choices=sorted(TOKENIZERS), default="char")
    data.add_argument("--batch_size", type=int, default=16, help="sequences per process")
    data.add_argument("--seed", type=int, default=0)
    optimization = parser.add_argument_group("optimization")
    optimization.add_argument("--max_steps", type=int, default=400)
    optimization.add_argument("--learning-rate", "--learning_rate", type=float, default=3e-3)
    optimization.add_argument("--min_lr_share", type=float, default=0.1)
    optimization.add_argument("--warmup_steps", type=int, default=40)
    optimization.add_argument("--weight_decay", type=float, default=0.1)
    optimization.add_argument("--grad_clip", type=float, default=1.0, help="0: no clipping")
    machine = parser.add_argument_group("machine")
    machine.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    machine.add_argument("--dtype", choices=["float32", "bfloat16"], help="GPU: bfloat16; CPU: float32")
    logging = parser.add_argument_group("logging")
    logging.add_argument(
        "--report_to",
        nargs="*",
        default=["tensorboard"],
        help="tensorboard, wandb, aim, mlflow; the JSON log and the console are on in any case",
    )
    logging.add_argument(
        "--log_file", help="path of the JSON log (default: training.json in the run's directory); none: no JSON log"
    )
    logging.add_argument(
        "--verbosity", type=int, default=0, help="-2 nothing, -1 evaluations only, 0 normal, 1 hardware too"
    )
    logging.add_argument("--output_dir", "--tensorboard_dir", default="runs", help="log directory")
    logging.add_argument("--run_name", help="name of the run's directory instead of <date>_<number>")
    logging.add_argument("--run-tag", "--run_tag")
    logging.add_argument("--watch_every", type=int, default=10, help="steps between update ratios, expert loads, etc.")
    logging.add_argument("--watch_overhead", help="limit such as 1%%: expensive measurements run less often")
    logging.add_argument("--histogram-interval", "--histogram_interval", type=int, default=0)
    logging.add_argument("--telemetry_secs", type=float, default=1.0)
    logging.add_argument("--eval_freq", type=int, default=50)
    logging.add_argument("--eval_iters", type=int, default=8)
    checkpoints = parser.add_argument_group("checkpoints")
    checkpoints.add_argument("--checkpoint_freq", type=int, default=100, help="0: none")
    checkpoints.add_argument("--keep_checkpoints", type=int, default=2)
    checkpoints.add_argument("--resume", metavar="latest|PATH")
    add_fault_argument(parser, base="moe")
    return parser


def parse(argv: list[str] | None) -> tuple[argparse.Namespace, dict, dict | None]:
    """The arguments, the file's settings for Pulseboard's sinks, and the checkpoint to resume from."""
    parser = arguments()
    first = parser.parse_args(argv)
    file = yaml.safe_load(Path(first.config).read_text(encoding="utf-8")) or {} if first.config else {}
    if isinstance(file.get("report_to"), str):
        file["report_to"] = [file["report_to"]]
    known = {name: value for name, value in file.items() if name in vars(first)}
    checkpoint = None
    if first.resume:
        checkpoint = load_checkpoint(Path(first.output_dir), first.resume, trainer="moe")
        known = checkpoint["args"] | known
    parser.set_defaults(**known)
    args = parser.parse_args(argv)
    # Like report_to in the guide, it adds backends: the JSON log and the console do not depend on it.
    args.report_to = [sink for sink in args.report_to if sink not in ("json", "console", "none")]
    if "tensorboard" not in args.report_to:
        args.report_to = ["tensorboard", *args.report_to]
    return args, {name: value for name, value in file.items() if name not in known}, checkpoint


# ---- the training


def main(argv: list[str] | None = None) -> LoopParts:
    """Train from start to end."""
    args, sink_settings, checkpoint = parse(argv)
    if args.fault:
        find_fault(args.fault, base="moe")

    # ---- processes and devices

    rank, world_size, device, own_group = join_processes(args.device)
    kind = device.split(":")[0]
    args.dtype = args.dtype or ("bfloat16" if kind == "cuda" else "float32")
    autocast = torch.autocast(kind, dtype=torch.bfloat16, enabled=args.dtype == "bfloat16")
    torch.manual_seed(args.seed)

    # ---- data

    text = load_text(args.text, tokenizer=args.tokenizer)
    order = Windows(text.train, args.block_size, args.batch_size, seed=args.seed, rank=rank, world_size=world_size)
    held_out = Windows(text.val, args.block_size, args.batch_size, seed=args.seed + 1)

    # ---- model and optimizer

    rules = SimpleNamespace(
        top_k=args.top_k,
        capacity_factor=args.capacity_factor,
        aux_weight=args.aux_weight,
        z_weight=args.z_weight,
    )
    layers = [Experts(args.n_embd, args.n_experts, args.dropout, rules) for _ in range(args.n_layer)]
    raw = GPT(
        vocab_size=text.tokenizer.size,
        block_size=args.block_size,
        n_embd=args.n_embd,
        dropout=args.dropout,
        blocks=[Block(args.n_embd, args.n_head, args.dropout, mlp=layer) for layer in layers],
    ).to(device)
    matrices = [p for p in raw.parameters() if p.dim() >= 2]
    others = [p for p in raw.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": args.weight_decay}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=args.learning_rate, betas=(0.9, 0.95), fused=kind == "cuda")
    first_step = 0
    if checkpoint is not None:
        raw.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        first_step = checkpoint["step"]
    model: nn.Module = DistributedDataParallel(raw) if world_size > 1 else raw

    # ---- the run, and its log of records

    resumes = checkpoint is not None and checkpoint["run"] and args.run_name in (None, checkpoint["run"])
    config = config_of(args) | {
        "trainer": "moe",
        "optimizer": "adamw",
        "vocab_size": text.tokenizer.size,
        "unigram_entropy": text.unigram_entropy,
        "parameters": sum(p.numel() for p in raw.parameters()),
        "lr_schedule": "warm-up and cosine",
        "world_size": world_size,
    }
    run = pb.init(
        dir=checkpoint["runs"] if resumes else args.output_dir,
        run_id=None if resumes else args.run_name,
        run_tag=None if resumes else args.run_tag,
        resume=checkpoint["run"] if resumes else None,
        config=config,
        notes=notes_of(args),
        report_to=args.report_to,
        histogram_interval=args.histogram_interval,
        telemetry_secs=args.telemetry_secs,
        **sink_settings,
    )
    json_file = (args.log_file or run.directory / "training.json") if rank == 0 and args.log_file != "none" else None
    logger = pb.TrainingRunLogger(
        json_file,
        verbosity=pb.LogVerbosity.SILENT if rank > 0 else args.verbosity,
        total_steps=args.max_steps,
    )

    # ---- the parts of the loop

    def lr_at(step: int) -> float:
        if step < args.warmup_steps:
            return args.learning_rate * (step + 1) / args.warmup_steps
        progress = (step - args.warmup_steps) / max(1, args.max_steps - args.warmup_steps)
        cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))
        return args.learning_rate * (args.min_lr_share + (1 - args.min_lr_share) * cosine)

    def penalty() -> torch.Tensor:
        """The routers' part of the loss."""
        aux = sum(layer.aux_loss for layer in layers)
        return rules.aux_weight * aux + rules.z_weight * sum(layer.z_loss for layer in layers)

    def loss_of(batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        x, y = (part.to(device, non_blocking=True) for part in batch)
        with autocast:
            return model(x, y)[1] + penalty()

    @torch.no_grad()
    def evaluate(step: int) -> dict[str, float]:
        raw.eval()
        started_at, losses = time.perf_counter(), []
        for i in [*range(args.eval_iters), 0]:
            x, y = (part.to(device) for part in held_out.batch(i))
            with autocast:
                losses.append(float(raw(x, y)[1]))
        secs = time.perf_counter() - started_at
        tokens = len(losses) * args.batch_size * args.block_size
        raw.train()
        return {
            "eval/loss": sum(losses[:-1]) / args.eval_iters,
            "probe/eval_twice": abs(losses[-1] - losses[0]),  # the first batch was evaluated twice
            "eval/epoch": order.epoch(step),
            "eval/eval_tokens": tokens,
            "eval/duration_ms": 1000 * secs,
            "eval/tokens_per_second": tokens / secs,
        }

    parts = LoopParts(
        base="moe",
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
        extra={
            "router": rules,
            "layers": layers,
            "raw_model": raw,
            "text": text,
            "windows": order,
            "held_out": held_out,
        },
    )
    apply_fault(parts)
    run.update_config(trainable_parameters=sum(p.numel() for p in raw.parameters() if p.requires_grad))
    watch = pb.watch(
        model,
        parts.optimizer,
        run=run,
        clip_norm=parts.clip_norm,
        overhead=args.watch_overhead,
        every=dict.fromkeys(WATCHED_OFTEN, args.watch_every),
        start_step=first_step,
    )
    clipping = instruments.Clipping(parts.clip_norm or math.inf)

    # ---- known before the first step: data, hardware, and the highest possible speed

    logger.log_dataset("train", {args.text or "pydoc": len(text.train)}, len(text.train), seed=args.seed)
    logger.log_dataset("eval", {args.text or "pydoc": len(text.val)}, len(text.val), seed=args.seed)
    shape = instruments.ModelShape(
        layers=args.n_layer,
        hidden=args.n_embd,
        heads=args.n_head,
        vocab=text.tokenizer.size,
        seq_len=args.block_size,
        intermediate=2 * args.n_embd,
        gated=False,
        experts=args.n_experts,
        active_experts=args.top_k,
    )
    limits = {}
    if kind == "cuda":
        limits = instruments.speed_of_light(shape, gpu=torch.cuda.get_device_name(), gpus=world_size)
        log_gpu_model(logger, device)
    if not limits:  # a CPU or an unknown GPU: measure the peak with a matrix product
        work, peak = instruments.flops(shape), measured_peak(device)
        limits = {"sol/blocks": work.blocks, "sol/lm_head": work.lm_head, "sol/attention": work.attention}
        limits["sol/tps"] = world_size * peak / work.total
    logger.log_sol_estimate(
        **{name.removeprefix("sol/"): value for name, value in limits.items()},
        dtype="bf16" if args.dtype == "bfloat16" else "fp32",
    )

    # ---- the loop

    if checkpoint is not None:
        restore_random_state(checkpoint["random"][rank % len(checkpoint["random"])])
        clipping.steps, clipping._clipped = checkpoint["clipping"]
    else:
        torch.manual_seed(args.seed * 1000 + rank)

    def evaluate_and_log(step: int) -> None:
        values = parts.evaluate(step)
        first = {"eval/loss": values["eval/loss"]} if step == 0 else {}
        if first:
            run.hparams(config, first)  # also logs the value that runs are compared by
            run.log(limits, 0)
        parts.log({tag: value for tag, value in values.items() if tag not in first}, step)
        duration_ms, eval_loss = values["eval/duration_ms"], values["eval/loss"]
        logger.log_eval(step, values["eval/epoch"], values["eval/eval_tokens"], duration_ms, eval_loss)

    for step in range(parts.first_step, parts.steps):
        if step % args.eval_freq == 0 and rank == 0:
            evaluate_and_log(step)
        started_at = time.perf_counter()
        lr = parts.lr_at(step)
        parts.set_lr(lr)
        parts.zero_grad()
        batch = parts.batch(step)
        loss = parts.loss(batch)
        parts.backward(loss)
        norm = parts.clip()
        parts.step()
        cross_entropy = loss.detach() - penalty().detach()
        if world_size > 1:
            distributed.all_reduce(cross_entropy)
            cross_entropy /= world_size
        if kind == "cuda":
            torch.cuda.synchronize()
        secs = time.perf_counter() - started_at

        # First the routers, then the step: the console prints both on one line.
        logits, counts = [layer.logits.detach() for layer in layers], [layer.counts for layer in layers]
        weights = {"aux_coefficient": rules.aux_weight, "z_coefficient": rules.z_weight}
        health = instruments.moe(logits, expert_counts=counts, top_k=rules.top_k, **weights)
        if step % args.watch_every == 0:
            health |= instruments.router(logits, expert_counts=counts, dropped=[layer.dropped for layer in layers])
        tokens = batch[0].numel() * world_size
        clipped = clipping(norm)
        values = {
            "train/loss": cross_entropy,
            "train/norm": clipped["train/gradient/global_norm_after_clip"],
            "train/lr": lr,
            "train/epoch": order.epoch(step),
            "train/step_tokens": tokens,
            "train/duration_ms": 1000 * secs,
            "train/tokens_per_second": tokens / secs,
            "data/batch_checksum": batch_checksum(batch),
            **instruments.speed_of_light_share(step_tokens=tokens, step_secs=secs, tps=limits["sol/tps"]),
            **clipped,
            **health,
        }
        if "scaler" in parts.extra:
            values["amp/loss_scale"] = parts.extra["scaler"].get_scale()
        if step % (10 * args.watch_every) == args.watch_every:
            values |= instruments.allocator(raw, parts.optimizer)
            logger.log_allocator(step, instruments.segments(raw, parts.optimizer))
            if kind == "cuda":
                log_gpu_state(logger, step, device)
        parts.log(values, step)
        parts.extra["moe_stats"] = health
        logger.log_moe_stats(step, **parts.get_moe_stats())
        logger.log_step(
            step, values["train/epoch"], tokens, 1000 * secs, float(values["train/norm"]), float(cross_entropy), lr
        )

        done = step + 1
        if args.checkpoint_freq and (done % args.checkpoint_freq == 0 or done == parts.steps):
            random = random_states(kind, world_size=world_size)  # on every rank
            if rank == 0:
                excluded = (*NOT_RESTORED, "config", "output_dir")
                state = {
                    "trainer": "moe",
                    "step": done,
                    "args": {name: value for name, value in config_of(args).items() if name not in excluded},
                    "model": raw.state_dict(),
                    "optimizer": parts.optimizer.state_dict(),
                    "random": random,
                    "clipping": (clipping.steps, clipping._clipped),
                }
                save_checkpoint(run.directory / "checkpoints", state, keep=args.keep_checkpoints)

    if rank == 0:
        evaluate_and_log(parts.steps)
    watch.close()
    logger.close()
    run.finish()
    leave_processes(world_size, own_group=own_group)
    return parts


if __name__ == "__main__":
    main()
