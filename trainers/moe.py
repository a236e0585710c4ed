"""Train a mixture-of-experts language model, with a console and a JSON log as Surogate has them.

python trainers/moe.py trainers/moe.yaml                     # a minute on a laptop; report_to stands in the file
python trainers/moe.py trainers/moe.yaml --aux_weight 0      # flags count more than the file
python trainers/moe.py --fault router-collapse               # broken on purpose: see zoo/faults/
torchrun --standalone --nproc_per_node=8 trainers/moe.py big.yaml --n_layer 12 --n_head 12 --n_embd 768 \\
    --block_size 1024 --n_experts 64 --batch_size 16 --learning-rate 4e-4 --text corpus.txt
"""

import argparse
import math
import os
import time
from pathlib import Path
from types import SimpleNamespace

import torch
import yaml
from gpt import (
    GPT,
    MLP,
    OF_THIS_START,
    OFTEN,
    Block,
    load_checkpoint,
    random_state,
    restore_random_state,
    save_checkpoint,
)
from parts import Parts, add_fault_argument, apply_fault, batch_checksum, config_of, find_fault, notes_of
from text import TOKENIZERS, Windows, load_text
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

import pulseboard as pb
from pulseboard.instruments.allocator import allocator, segments
from pulseboard.instruments.clipping import Clipping
from pulseboard.instruments.moe import moe
from pulseboard.instruments.router import router
from pulseboard.instruments.speed_of_light import ModelShape, flops, speed_of_light, speed_of_light_share

# ---- the experts of one layer


class Experts(nn.Module):
    """Each token goes to `top_k` of the experts, as its router says, while they have room.

    `rules` is shared by all layers: top_k, capacity_factor. What happened in the last pass stays for the loss and
    for the log: logits, counts (tokens that wanted to go to each expert), dropped (those that found no room).
    """

    def __init__(self, n_embd: int, n_experts: int, dropout: float, rules: SimpleNamespace) -> None:
        super().__init__()
        self.rules = rules
        self.router = nn.Linear(n_embd, n_experts, bias=False)
        self.experts = nn.ModuleList(MLP(n_embd, dropout, 2 * n_embd) for _ in range(n_experts))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens = x.flatten(0, 1)
        with torch.autocast(x.device.type, enabled=False):  # a router in 16 bits is a router that flips coins
            self.logits = nn.functional.linear(tokens.float(), self.router.weight.float())
            chances = self.logits.softmax(dim=-1)
        weight, chosen = chances.topk(self.rules.top_k, dim=-1)
        weight = (weight / weight.sum(dim=-1, keepdim=True)).to(x.dtype)
        n_experts = len(self.experts)
        room = math.ceil(self.rules.capacity_factor * tokens.shape[0] * self.rules.top_k / n_experts)
        out = torch.zeros_like(tokens)
        counts, dropped = [], 0
        for number, expert in enumerate(self.experts):
            of_token, of_choice = (chosen == number).nonzero(as_tuple=True)
            counts.append(len(of_token))
            dropped += max(0, len(of_token) - room)
            of_token, of_choice = of_token[:room], of_choice[:room]  # who comes first is served first
            # Also with no token at all: then its gradients are zeros, which DDP needs to be there.
            told = expert(tokens[of_token]) * weight[of_token, of_choice, None]
            out = out.index_add(0, of_token, told.to(out.dtype))
        self.counts = torch.tensor(counts, dtype=torch.float32, device=x.device)
        self.dropped = float(dropped)
        share = self.counts / self.counts.sum()
        self.aux_loss = n_experts * (share * chances.mean(dim=0)).sum()  # 1 where the load is even
        self.z_loss = self.logits.logsumexp(dim=-1).square().mean()
        return out.view_as(x)


# ---- arguments: flags over the YAML file over defaults


def arguments() -> argparse.ArgumentParser:
    """Every flag, with what it does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", nargs="?", help="YAML: report_to, log_file, verbosity, ... and any flag below")
    model = parser.add_argument_group("model")
    model.add_argument("--n_layer", type=int, default=2)
    model.add_argument("--n_head", type=int, default=4)
    model.add_argument("--n_embd", type=int, default=64)
    model.add_argument("--block_size", type=int, default=64)
    model.add_argument("--dropout", type=float, default=0.0)
    model.add_argument("--n_experts", type=int, default=8, help="of a layer")
    model.add_argument("--top_k", type=int, default=2, help="experts of a token")
    model.add_argument("--capacity_factor", type=float, default=2.0, help="room of an expert beside an even load")
    model.add_argument("--aux_weight", type=float, default=0.01, help="of the load-balancing loss")
    model.add_argument("--z_weight", type=float, default=0.001, help="of the loss that keeps router logits small")
    data = parser.add_argument_group("data")
    data.add_argument("--text", metavar="FILE", help="any UTF-8 text; Python's reference manual where none is given")
    data.add_argument("--tokenizer", choices=sorted(TOKENIZERS), default="char")
    data.add_argument("--batch_size", type=int, default=16, help="rows of one process")
    data.add_argument("--seed", type=int, default=0)
    optimisation = parser.add_argument_group("optimisation")
    optimisation.add_argument("--max_steps", type=int, default=400)
    optimisation.add_argument("--learning-rate", "--learning_rate", type=float, default=3e-3)
    optimisation.add_argument("--min_lr_share", type=float, default=0.1)
    optimisation.add_argument("--warmup_steps", type=int, default=40)
    optimisation.add_argument("--weight_decay", type=float, default=0.1)
    optimisation.add_argument("--grad_clip", type=float, default=1.0, help="0: no clipping")
    machine = parser.add_argument_group("machine")
    machine.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    machine.add_argument("--dtype", choices=["float32", "bfloat16"], help="bfloat16 on a GPU, float32 on a CPU")
    logging = parser.add_argument_group("logging")
    logging.add_argument("--report_to", nargs="*", default=["tensorboard", "json", "console"])
    logging.add_argument("--log_file", help="of the JSON log; training.json in the run's directory")
    logging.add_argument("--verbosity", type=int, default=0, help="-1 evaluations only, 0 normal, 1 hardware too")
    logging.add_argument("--output_dir", "--tensorboard_dir", default="runs", help="below which runs are made")
    logging.add_argument("--run_name", help="the directory's name, in the place of <date>_<number>")
    logging.add_argument("--run-tag", "--run_tag")
    logging.add_argument("--watch_every", type=int, default=10, help="steps between update ratios, expert loads, ...")
    logging.add_argument("--watch_overhead", help="such as 1%%: measure less often where it would cost more")
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
    """The arguments, what the file says to Pulseboard's sinks, and the checkpoint to go on from."""
    parser = arguments()
    first = parser.parse_args(argv)
    file = yaml.safe_load(Path(first.config).read_text(encoding="utf-8")) or {} if first.config else {}
    if isinstance(file.get("report_to"), str):
        file["report_to"] = [file["report_to"]]
    ours = {name: value for name, value in file.items() if name in vars(first)}
    checkpoint = None
    if first.resume:
        checkpoint = load_checkpoint(Path(first.output_dir), first.resume)
        ours = checkpoint["args"] | ours
    parser.set_defaults(**ours)
    return parser.parse_args(argv), {name: value for name, value in file.items() if name not in ours}, checkpoint


# ---- the training


def main(argv: list[str] | None = None) -> Parts:
    """Train from start to end."""
    args, for_sinks, checkpoint = parse(argv)
    if args.fault:
        find_fault(args.fault, base="moe")

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

    # ---- the run, and the log of records beside it

    goes_on = checkpoint is not None and checkpoint["run"] and args.run_name in (None, checkpoint["run"])
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
        dir=checkpoint["runs"] if goes_on else args.output_dir,
        run_id=None if goes_on else args.run_name,
        run_tag=None if goes_on else args.run_tag,
        resume=checkpoint["run"] if goes_on else None,
        config=config,
        notes=notes_of(args),
        report_to=[place for place in args.report_to if place not in ("json", "console")],  # the logger's
        histogram_interval=args.histogram_interval,
        telemetry_secs=args.telemetry_secs,
        **for_sinks,
    )
    json_file = (args.log_file or run.directory / "training.json") if rank == 0 and "json" in args.report_to else None
    silent = rank > 0 or "console" not in args.report_to
    logger = pb.TrainingRunLogger(
        json_file,
        verbosity=pb.LogVerbosity.SILENT if silent else args.verbosity,
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
        """What the routers add to the loss."""
        aux = sum(layer.aux_loss for layer in layers)
        return rules.aux_weight * aux + rules.z_weight * sum(layer.z_loss for layer in layers)

    def loss_of(batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        x, y = (part.to(device, non_blocking=True) for part in batch)
        with autocast:
            return model(x, y)[1] + penalty()

    @torch.no_grad()
    def evaluate(step: int) -> dict[str, float]:
        raw.eval()
        began, losses = time.perf_counter(), []
        for i in [*range(args.eval_iters), 0]:
            x, y = (part.to(device) for part in held_out.batch(i))
            with autocast:
                losses.append(float(raw(x, y)[1]))
        secs = time.perf_counter() - began
        tokens = len(losses) * args.batch_size * args.block_size
        raw.train()
        return {
            "eval/loss": sum(losses[:-1]) / args.eval_iters,
            "probe/eval_twice": abs(losses[-1] - losses[0]),  # the first batch came twice
            "eval/epoch": order.epoch(step),
            "eval/eval_tokens": tokens,
            "eval/duration_ms": 1000 * secs,
            "eval/tokens_per_second": tokens / secs,
        }

    parts = Parts(
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
        every=dict.fromkeys(OFTEN, args.watch_every),
        start_step=first_step,
    )
    clipping = Clipping(parts.clip_norm or math.inf)

    # ---- what is known before the first step: data, hardware, and how fast it could be

    logger.log_dataset("train", {args.text or "pydoc": len(text.train)}, len(text.train), seed=args.seed)
    logger.log_dataset("eval", {args.text or "pydoc": len(text.val)}, len(text.val), seed=args.seed)
    shape = ModelShape(
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
    light = speed_of_light(shape, gpu=torch.cuda.get_device_name(), gpus=world_size) if kind == "cuda" else {}
    if kind == "cuda":
        gpu = torch.cuda.get_device_properties(device)
        logger.log_gpu_model(
            gpu.index if hasattr(gpu, "index") else 0,
            name=gpu.name,
            sm_count=gpu.multi_processor_count,
            major=gpu.major,
            minor=gpu.minor,
            memory=gpu.total_memory,
            free=torch.cuda.mem_get_info(device)[0],
            l2_size=gpu.L2_cache_size,
            uuid=str(gpu.uuid),
        )
    if not light:  # a processor, or a GPU that is in no table: the peak is what a matrix product reaches here
        work, peak = flops(shape), measured_peak(device)
        light = {"sol/blocks": work.blocks, "sol/lm_head": work.lm_head, "sol/attention": work.attention}
        light["sol/tps"] = world_size * peak / work.total
    logger.log_sol_estimate(
        **{name.removeprefix("sol/"): value for name, value in light.items()},
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
            run.hparams(config, first)  # it logs the number that runs are compared by
            run.log(light, 0)
        parts.log({tag: value for tag, value in values.items() if tag not in first}, step)
        logger.log_eval(
            step,
            values["eval/epoch"],
            values["eval/eval_tokens"],
            values["eval/duration_ms"],
            values["eval/loss"],
        )

    for step in range(parts.first_step, parts.steps):
        if step % args.eval_freq == 0 and rank == 0:
            evaluate_and_log(step)
        began = time.perf_counter()
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
        secs = time.perf_counter() - began

        # The state of the routers, then the step: its line on the console has both.
        logits, counts = [layer.logits.detach() for layer in layers], [layer.counts for layer in layers]
        weights = {"aux_coefficient": rules.aux_weight, "z_coefficient": rules.z_weight}
        health = moe(logits, expert_counts=counts, top_k=rules.top_k, **weights)
        if step % args.watch_every == 0:
            health |= router(logits, expert_counts=counts, dropped=[layer.dropped for layer in layers])
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
            **speed_of_light_share(step_tokens=tokens, step_secs=secs, tps=light["sol/tps"]),
            **clipped,
            **health,
        }
        if "scaler" in parts.extra:
            values["amp/loss_scale"] = parts.extra["scaler"].get_scale()
        if step % (10 * args.watch_every) == args.watch_every:
            values |= allocator(raw, parts.optimizer)
            logger.log_allocator(step, segments(raw, parts.optimizer))
            if kind == "cuda":
                log_gpu(logger, step, device)
        parts.log(values, step)
        logger.log_moe_stats(
            step,
            float(health["moe/aux_loss"]),
            float(health["moe/z_loss"]),
            float(health["moe/expert_utilization"]),
            float(health["moe/load_imbalance"]),
        )
        logger.log_step(
            step, values["train/epoch"], tokens, 1000 * secs, float(values["train/norm"]), float(cross_entropy), lr
        )

        done = step + 1
        if args.checkpoint_freq and (done % args.checkpoint_freq == 0 or done == parts.steps):
            random = [random_state(kind)]
            if world_size > 1:
                random *= world_size
                distributed.all_gather_object(random, random_state(kind))
            if rank == 0:
                dropped = (*OF_THIS_START, "config", "output_dir")
                state = {
                    "step": done,
                    "args": {name: value for name, value in config_of(args).items() if name not in dropped},
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
    if world_size > 1:
        distributed.barrier()
        if own_group:
            distributed.destroy_process_group()
    return parts


def measured_peak(device: str) -> float:
    """Operations a second of the best of five products of matrices."""
    a = torch.ones(512, 512, device=device)
    best = math.inf
    for _ in range(5):
        began = time.perf_counter()
        float((a @ a)[0, 0])
        best = min(best, time.perf_counter() - began)
    return 2 * 512**3 / best


def log_gpu(logger: pb.TrainingRunLogger, step: int, device: str) -> None:
    """What the GPU is doing, as far as torch can tell (it asks NVML)."""
    try:
        logger.log_gpu_state(
            step,
            torch.device(device).index or 0,
            clock=torch.cuda.clock_rate(device),
            power=torch.cuda.power_draw(device),
            temperature=torch.cuda.temperature(device),
            gpu_util=torch.cuda.utilization(device),
            mem_util=torch.cuda.memory_usage(device),
            dram_free=torch.cuda.mem_get_info(device)[0],
        )
    except (ModuleNotFoundError, RuntimeError):
        pass  # no NVML here


if __name__ == "__main__":
    main()
