"""Faults of schedules, and schedules that only look wrong."""

from typing import Any

from zoo.fault import EVERY_BASE, decoy, fault, onset_step


@fault(
    "no-warmup",
    bases=EVERY_BASE,
    cause="no-warmup",
    accepted=(
        "lr-no-warmup",
        "weights-exploding",
        "update-too-large",
        "loss-plateau",
        "loss-spike",
        "gradient-spike",
        "gradient-exploding",
    ),
    visible="L1",
    equivalent=("lr-too-high",),
)
def no_warmup(parts: Any) -> None:
    """Five times the peak rate from the first step."""
    healthy, factor = parts.lr_at, 5 * parts.args.fault_strength
    peak_step = max(range(parts.steps), key=healthy)
    parts.lr_at = lambda step: factor * healthy(max(step, peak_step))
    parts.run.update_config(warmup_steps=0, learning_rate=factor * healthy(peak_step))


@fault(
    "lr-rising",
    bases=EVERY_BASE,
    cause="scheduler-bug",
    accepted=("lr-never-decays", "lr-horizon-off", "weights-exploding", "update-too-large", "loss-drift-up"),
    equivalent=("lr-too-high",),
)
def lr_rising(parts: Any) -> None:
    """The learning rate rises at every step and never falls."""
    first = parts.lr_at(min(10, parts.steps - 1))
    parts.lr_at = lambda step: first * (1 + parts.args.fault_strength * step / 20)


@fault(
    "schedule-restart",
    bases=EVERY_BASE,
    cause="scheduler-bug",
    accepted=("lr-jump", "resume-discontinuity", "lr-horizon-off"),
    onset="middle",
    equivalent=("resume-bug",),
)
def schedule_restart(parts: Any) -> None:
    """In the middle of the run the schedule restarts, as if its state was not restored."""
    healthy, onset = parts.lr_at, onset_step(parts)
    parts.lr_at = lambda step: healthy(step if step < onset else step - onset)


@fault(
    "lr-zero",
    bases=EVERY_BASE,
    cause="scheduler-bug",
    accepted=("lr-zero", "weights-frozen", "loss-flat", "update-too-small", "loss-at-ignorance"),
    equivalent=("optimizer-not-stepping", "frozen-weights", "lr-too-low"),
)
def lr_zero(parts: Any) -> None:
    """The learning rate is 0 from the first step."""
    parts.lr_at = lambda step: 0.0


@fault(
    "lr-zero-later",
    bases=EVERY_BASE,
    cause="scheduler-bug",
    accepted=("lr-zero", "weights-frozen", "lr-horizon-off", "lr-jump"),
    onset="middle",
    equivalent=("optimizer-not-stepping",),
)
def lr_zero_later(parts: Any) -> None:
    """The learning rate drops to 0 in the middle of the run and stays there."""
    healthy, onset = parts.lr_at, onset_step(parts)
    parts.lr_at = lambda step: healthy(step) if step < onset else 0.0


@fault("lr-horizon-short", bases=EVERY_BASE, cause="scheduler-bug", accepted=("lr-horizon-off",))
def lr_horizon_short(parts: Any) -> None:
    """The schedule ends halfway through the run: the learning rate stays at its minimum from then on."""
    healthy, factor = parts.lr_at, 2 * parts.args.fault_strength
    parts.lr_at = lambda step: healthy(min(int(step * factor), parts.steps - 1))


# ---- intended schedules


@decoy("warm-restarts-declared", bases=("gpt", "moe", "classifier"), onset="middle")
def warm_restarts_declared(parts: Any) -> None:
    """The learning rate jumps back to its peak twice, as declared in the config."""
    healthy, period = parts.lr_at, max(1, parts.steps // 3)
    peak_step = max(range(parts.steps), key=healthy)
    restarts = [{"step": step, "what": "the learning rate restarts"} for step in (period, 2 * period)]
    parts.run.update_config(lr_schedule="cosine with warm restarts", declared_changes=restarts)

    def lr_at(step: int) -> float:
        progress = (step % period) / period  # within this cosine
        return healthy(step if step < peak_step else peak_step + int(progress * (parts.steps - 1 - peak_step)))

    parts.lr_at = lr_at


@decoy("batch-size-schedule", bases=("gpt", "moe", "classifier"), onset="middle")
def batch_size_schedule(parts: Any) -> None:
    """Half of the batch until the middle of the run, then all of it, as declared in the config."""
    healthy, onset, rows = parts.batch, onset_step(parts), parts.args.batch_size
    parts.run.update_config(declared_changes=[{"step": onset, "what": f"the batch grows to {rows} rows"}])

    def batch(step: int) -> tuple[Any, ...]:
        whole = healthy(step)
        return whole if step >= onset else tuple(part[: max(1, len(part) // 2)] for part in whole)

    parts.batch = batch


@decoy("sequence-length-schedule", bases=("gpt", "moe"), onset="middle")
def sequence_length_schedule(parts: Any) -> None:
    """Half of the sequence length until the middle of the run, as declared in the config."""
    healthy, onset, length = parts.batch, onset_step(parts), parts.args.block_size
    parts.run.update_config(declared_changes=[{"step": onset, "what": f"sequences grow to {length} tokens"}])
    parts.batch = lambda step: healthy(step) if step >= onset else tuple(p[:, : length // 2] for p in healthy(step))


@decoy("noisy-small-batch", bases=("gpt", "moe", "classifier"))
def noisy_small_batch(parts: Any) -> None:
    """A quarter of the batch, but at least four rows, and a lower rate: a noisy but healthy loss."""
    healthy, lr_at = parts.batch, parts.lr_at
    rows = max(1, round(max(4, parts.args.batch_size // 4) / parts.args.fault_strength))
    # The rate of SGD scales with the batch size, that of Adam roughly with its square root.
    divisor = parts.args.batch_size / rows if getattr(parts.args, "optimizer", "adamw") == "sgd" else 3
    parts.run.update_config(batch_size=rows, learning_rate=parts.run.config.get("learning_rate", 0) / divisor)
    parts.batch = lambda step: tuple(part[:rows] for part in healthy(step))
    parts.lr_at = lambda step: lr_at(step) / divisor
