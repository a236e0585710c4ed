"""watch: what can be measured of a torch training from outside its loop, by hooks on the model and the optimizer.

Everything is batched over all parameters with torch's foreach kernels, stays on the tensors' device, and is
logged without waiting for it. What is measured, and how often: watched.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pulseboard.instruments.module_tree import module_tree, own_name
from pulseboard.instruments.schedule import Schedule, parse_overhead
from pulseboard.instruments.shards import Shards, local
from pulseboard.instruments.step_clock import StepClock
from pulseboard.instruments.training_context import autocast_dtype, training_context
from pulseboard.instruments.watched import HISTOGRAM_TAGS, WATCHED
from pulseboard.record.report import say_once
from pulseboard.record.run import Run, current_run
from pulseboard.record.telemetry.counters import open_counters
from pulseboard.record.telemetry.sources.torch_memory import torch_with_cuda

if TYPE_CHECKING:
    import torch
    from torch import nn

# At first everything is measured at least this often, so that short runs have curves too.
EARLY_STEPS, EARLY_EVERY = 100, 10


def watch(
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
    *,
    run: Run | None = None,
    scaler: Any = None,
    clip_norm: float | None = None,
    overhead: str | float | None = "1%",
    histogram_interval: int | None = None,
    histogram_tags: tuple[str, str] = HISTOGRAM_TAGS,
    dead_units: bool = False,
    every: int | dict[str, int] | None = None,
    start_step: int = 0,
) -> Watch:
    """Measure `model` while `optimizer` trains it, and log to `run` (the one begun last where it is None).

    `every` overrides cadences: a number for all of them, or a number by name (watched.py; 0: never). `overhead`
    bounds what all of it costs as a share of step time. `scaler` is the GradScaler of mixed precision, `clip_norm`
    the norm that the loop clips to, for the record. `histogram_tags` are those of parameters and of gradients,
    with {name} for the parameter's. `close` removes the hooks.
    """
    run = run or current_run()
    if run is None:
        raise ValueError("watch() has no run to log to: call pulseboard.init() first, or pass run=.")
    asked = dict.fromkeys(WATCHED, every) if isinstance(every, int) else dict(every or {})
    unknown = set(asked) - set(WATCHED)
    if unknown:
        raise ValueError(f"watch() has no cadence {sorted(unknown)[0]!r}; there are {', '.join(WATCHED)}.")
    if len(histogram_tags) != 2 or not all("{name}" in tag for tag in histogram_tags):
        raise ValueError(f"histogram_tags are two tags with {{name}} in each, such as {HISTOGRAM_TAGS!r}.")
    return Watch(
        model,
        optimizer,
        run=run,
        scaler=scaler,
        clip_norm=clip_norm,
        budget=parse_overhead(overhead),
        histogram_interval=run.settings.histogram_interval if histogram_interval is None else histogram_interval,
        histogram_tags=histogram_tags,
        dead_units=dead_units,
        asked=asked,
        start_step=start_step,
    )


class Watch:
    """The hooks of one model and one optimizer. Their failures are told once and never reach the loop."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer | None,
        *,
        run: Run,
        scaler: Any,
        clip_norm: float | None,
        budget: float | None,
        histogram_interval: int,
        histogram_tags: tuple[str, str],
        dead_units: bool,
        asked: dict[str, int],
        start_step: int,
    ) -> None:
        import torch

        self._torch = torch
        self._model, self._optimizer, self._scaler, self._run = model, optimizer, scaler, run
        self._histogram_tags = histogram_tags
        self._step = start_step
        self._parameters = [(own_name(name), p) for name, p in model.named_parameters()]
        self._shards = Shards(torch, [p for _, p in self._parameters])
        # Ranks of a sharded model add up their parts: all of them must do so at the same steps.
        self.schedule = Schedule(budget=None if self._shards.sharded else budget, early_steps=EARLY_STEPS)
        for id, watched in WATCHED.items():
            early = EARLY_EVERY if id not in asked else None
            self.schedule.add(id, every=asked.get(id, watched.every), early_every=early)
        self.schedule.add("histograms", every=histogram_interval)
        self._clock = StepClock()
        self._counters = _counters_or_none()
        self._before: list[torch.Tensor] | None = None
        self._logged: dict[str, Any] = {}
        self._dead: dict[str, Any] = {}
        self._skipped: Any = None
        self._scale: Any = None
        self._autocast: str | None = None
        self._stepped = False
        self._left: Any = None  # what the last step left in a gradient, once backward has come to it
        self._handles: list[Any] = []
        self._context = training_context(
            model, optimizer, scaler=scaler, clip_norm=clip_norm, world_size=run.rank.world_size
        )
        run.update_config(watch=self._context)
        run.tell_modules(lambda: module_tree(model))
        self._install(dead_units)

    def measure(self, instrument: Callable[..., dict[str, Any]], *args: Any, **named: Any) -> bool:
        """Call an instrument if its cadence says so; what it gives is logged with the step under way.

        Each level and each data set has a cadence of its own. Whether it was called comes back.
        """
        declared = getattr(instrument, "declared", None)
        if declared is None:
            raise ValueError(f"{instrument!r} is not declared as an instrument: see pulseboard.instruments.declare.")
        of = ", ".join(f"{key}={named[key]}" for key in ("level", "name", "prefix") if key in named)
        id, step = f"{declared.id} {of}".strip(), self._now()
        if not self.schedule.knows(id):
            self.schedule.add(id, every=declared.every)
        if not self.schedule.due(id, step):
            return False
        with self.schedule.running(id, step), self._torch.no_grad():
            self._logged.update(instrument(*args, **named))
        return True

    def close(self) -> None:
        """Remove every hook. What was measured is logged."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ---- hooks

    def _install(self, dead_units: bool) -> None:
        def safe(hook: Callable[..., None]) -> Callable[..., None]:
            def guarded(*args: Any, **named: Any) -> None:
                try:
                    hook(*args, **named)
                except Exception as error:
                    say_once(f"watch {hook.__name__}", f"watch stopped at a hook: {type(error).__name__}: {error}.")
                    self.close()

            # Outside the compiled graph: clocks and logging are not to be traced.
            return self._torch.compiler.disable(guarded)  # type: ignore[no-any-return]

        self._handles.append(self._model.register_forward_pre_hook(safe(self._forward_begins), with_kwargs=True))
        self._handles.append(self._model.register_forward_hook(safe(self._forward_ended)))
        if self._optimizer is not None:
            self._handles.append(self._optimizer.register_step_pre_hook(safe(self._step_begins)))
            self._handles.append(self._optimizer.register_step_post_hook(safe(self._step_ended)))
            trained = [p for _, p in self._parameters if p.requires_grad]
            if trained:  # the last is nearest to the loss: what cuts off others leaves it
                last: Any = trained[-1]
                self._handles.append(last.register_hook(safe(self._backward_at(last))))
        if dead_units:
            for name, module in self._model.named_modules():
                if type(module).__name__ in _ACTIVATIONS:
                    self._handles.append(module.register_forward_hook(safe(self._dead_units_of(own_name(name)))))

    def _forward_begins(self, model: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        if not model.training:
            self._clock.evaluated()
            return
        self._clock.forward_begins(args, named)
        if not self._stepped and self._parameters:
            self._autocast = autocast_dtype(self._torch, self._parameters[0][1].device.type)
        if self._scaler is not None:
            self._follow_scale()

    def _forward_ended(self, model: nn.Module, args: Any, output: Any) -> None:
        if model.training:
            self._clock.forward_ended()

    def _backward_at(self, parameter: Any) -> Callable[..., None]:
        def backward(gradient: torch.Tensor) -> None:
            # Of a step's backward passes the first, at which nothing has been added up yet.
            if self._left is None and self._stepped and self.schedule.due("sparsity", self._now()):
                with self._torch.no_grad():
                    held = parameter.grad
                    self._left = 0.0 if held is None else self._torch.linalg.vector_norm(held.detach())

        return backward

    def _step_begins(self, optimizer: Any, args: Any, named: Any) -> None:
        step = self._now()
        self._clock.backward_ended()
        for id, measure in (
            ("gradient_norm", self._gradient_norm),
            ("gradient_flow", self._gradient_flow),
            ("sparsity", self._sparsity),
        ):
            self._measure(id, measure, step)
        if self.schedule.due("update", step):
            with self.schedule.running("update", step, done=False), self._torch.no_grad():
                self._before = [p.clone() for p in self._trained()]
        self._measure("histograms", lambda: self._histograms(step), step)
        self._clock.optimizer_begins()

    def _step_ended(self, optimizer: Any, args: Any, named: Any) -> None:
        step = self._now()
        self._clock.step_ended()
        if self._before is not None:
            with self.schedule.running("update", step), self._torch.no_grad():
                self._update()
        for id, measure in (
            ("learning_rate", self._learning_rate),
            ("parameter_norm", self._parameter_norm),
            ("performance", self._performance),
            ("amp", self._amp),
            ("dead_units", self._log_dead_units),
            ("overhead", self._overhead),
        ):
            self._measure(id, measure, step)
        if self._run.rank.world_size > 1:
            for id, own in (
                ("timing", self._timing),
                ("rank_memory", self._rank_memory),
                ("checksum", self._checksum),
            ):
                if self.schedule.due(id, step):
                    with self.schedule.running(id, step), self._torch.no_grad():
                        self._run.log_aside(own(), step, per_rank=True)
        if self._logged:
            logged, self._logged = self._logged, {}
            self._run.log_aside(logged, step)
        if not self._stepped:
            self._stepped = True
            self._tell_precision()
        self._left = None
        self._step = step + 1
        self.schedule.stepped()

    def _measure(self, id: str, measure: Callable[[], None], step: int) -> None:
        if self.schedule.due(id, step):
            with self.schedule.running(id, step), self._torch.no_grad():
                measure()

    def _now(self) -> int:
        """The step under way. A loop that resumed says so by what it logs."""
        return max(self._step, self._run.last_step)

    # ---- gradients

    def _with_gradients(self) -> list[tuple[str, Any]]:
        return [(name, p) for name, p in self._parameters if p.grad is not None]

    def _together(self, numbers: Any) -> list[Any]:
        """0-d tensors in float32, all on the first one's device: a model may be spread over several."""
        return [n.to(numbers[0].device, self._torch.float32, non_blocking=True) for n in numbers]

    def _sums(self, parameters: list[tuple[str, Any]], tensors: list[torch.Tensor], *, power: int) -> list[Any]:
        """The sum of each tensor's sizes, or of their squares, as this rank's share of the whole model's."""
        torch = self._torch
        sums = self._together(torch._foreach_norm(tensors, float(power)))
        if power == 2:
            sums = list(torch._foreach_mul(sums, sums))
        if self._shards.sharded:  # Python's numbers, since a tensor of them would be copied to the device
            sums = list(torch._foreach_div(sums, [float(self._shards.copies(p)) for _, p in parameters]))
        return sums

    def _norm(self, parameters: list[tuple[str, Any]], tensors: list[torch.Tensor]) -> Any:
        return self._shards.sum(self._torch.stack(self._sums(parameters, tensors, power=2)).sum()).sqrt()

    def _summed_by(
        self, group_of: Callable[[str], str], parameters: list[tuple[str, Any]], sums: list[Any]
    ) -> dict[str, Any]:
        """Each group's sum over the whole model, by the group's name."""
        groups: dict[str, list[Any]] = {}
        for (name, _), value in zip(parameters, sums, strict=True):
            groups.setdefault(group_of(name), []).append(value)
        summed = self._torch.stack([self._torch.stack(values).sum() for values in groups.values()])
        return dict(zip(groups, self._shards.sum(summed).unbind(), strict=True))

    def _gradient_norm(self) -> None:
        if found := self._with_gradients():
            norm = self._norm(found, [local(p.grad) for _, p in found])
            self._logged["train/gradient_flow/global_norm"] = norm

    def _gradient_flow(self) -> None:
        found = self._with_gradients()
        for part in dict.fromkeys(part_of(name) for name, _ in self._parameters):
            # Frozen parts keep this, as a target encoder does.
            self._logged[f"train/gradient_flow/{part}_mean"] = 0.0
            self._logged[f"train/gradient_flow/{part}_max"] = 0.0
        if not found:
            return
        gradients = [local(p.grad) for _, p in found]
        squares = self._summed_by(layer_of, found, self._sums(found, gradients, power=2))
        for layer, square in squares.items():
            self._logged[f"train/gradient_flow/{layer}_norm"] = square.sqrt()
        parts: dict[str, list[int]] = {}
        for i, (name, _) in enumerate(found):
            parts.setdefault(part_of(name), []).append(i)
        for part, size in self._summed_by(part_of, found, self._sums(found, gradients, power=1)).items():
            count = sum(found[i][1].numel() for i in parts[part])
            self._logged[f"train/gradient_flow/{part}_mean"] = size / max(1, count)
        # Of an empty shard there is no largest; 0 leaves the others' as it is.
        whole = [g if g.numel() else g.new_zeros(1) for g in gradients]
        sizes = self._together(self._torch._foreach_norm(whole, float("inf")))
        largest = [self._torch.stack([sizes[i] for i in at]).max() for at in parts.values()]
        for part, value in zip(parts, self._shards.max(self._torch.stack(largest)).unbind(), strict=True):
            self._logged[f"train/gradient_flow/{part}_max"] = value

    def _sparsity(self) -> None:
        trained = [p for _, p in self._parameters if p.requires_grad]
        missing = sum(p.grad is None for p in trained)
        self._logged["train/gradient_flow/none_share"] = missing / max(1, len(trained))
        if self._left is not None:
            self._logged["train/gradient_flow/left_over"] = self._left
        if found := self._with_gradients():
            # Counts, not shares, are exact in float32 up to 16 million a tensor, and close enough beyond.
            zeros = self._together([(local(p.grad) == 0).sum().float() / self._shards.copies(p) for _, p in found])
            share = self._shards.sum(self._torch.stack(zeros).sum()) / max(1, sum(p.numel() for _, p in found))
            self._logged["train/gradient_flow/zero_share"] = share

    # ---- parameters

    def _trained(self) -> list[torch.Tensor]:
        return [local(p.detach()) for _, p in self._parameters if p.requires_grad]

    def _parameter_norm(self) -> None:
        if self._parameters:
            parameters = [local(p.detach()) for _, p in self._parameters]
            self._logged["train/total_param_norm"] = self._norm(self._parameters, parameters)

    def _update(self) -> None:
        before, self._before = self._before or [], None
        if not before:
            return
        trained = [(name, p) for name, p in self._parameters if p.requires_grad]
        sizes = self._summed_by(part_of, trained, self._sums(trained, before, power=2))
        # In place on the copies: no second copy of the model.
        self._torch._foreach_sub_(before, self._trained())
        changes = self._summed_by(part_of, trained, self._sums(trained, before, power=2))
        changed, size = (self._torch.stack(list(squares.values())).sum() for squares in (changes, sizes))
        self._logged["train/update_ratio"] = (changed / size).sqrt()
        for part, change in changes.items():
            self._logged[f"train/update_ratio/{part}"] = (change / sizes[part]).sqrt()
        moved = self._shards.sum(self._torch.stack(self._sums(trained, before, power=1)).sum())
        self._logged["train/learning_rate/avg_param_update"] = moved / max(1, sum(p.numel() for _, p in trained))

    def _histograms(self, step: int) -> None:
        of_parameter, of_gradient = self._histogram_tags
        for name, p in self._parameters:
            self._run.histogram(of_parameter.replace("{name}", name), local(p.detach()), step=step)
            if p.grad is not None:
                self._run.histogram(of_gradient.replace("{name}", name), local(p.grad), step=step)

    # ---- each rank's own

    def _checksum(self) -> dict[str, Any]:
        """A number that is the same on every rank of a replicated model, and on no two that have drifted apart."""
        if self._shards.sharded or not self._parameters:
            return {}
        norms = self._torch._foreach_norm([p.detach() for _, p in self._parameters])
        summed = self._torch.stack(self._together(norms))
        weights = self._torch.arange(1, len(summed) + 1, device=summed.device, dtype=summed.dtype)
        return {"rank/param_checksum": (summed * weights).sum()}

    def _timing(self) -> dict[str, Any]:
        clock = self._clock
        if not clock.step_secs:
            return {}
        times = (clock.step_secs, clock.forward_secs, clock.data_secs)
        return dict(zip(("rank/step_time", "rank/forward_time", "rank/data_time"), times, strict=True))

    def _rank_memory(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self._counters is not None:
            found["rank/memory_rss"] = self._counters.process_bytes()
        torch = torch_with_cuda()
        if torch is not None:
            found["rank/memory_allocated"] = torch.cuda.memory_allocated()
        return found

    # ---- everything else

    def _learning_rate(self) -> None:
        groups = self._optimizer.param_groups if self._optimizer is not None else []
        for i, group in enumerate(groups):
            if i == 0:
                self._logged["train/learning_rate/base_lr"] = group["lr"]
            self._logged[f"train/learning_rate/param_group_{i}"] = group["lr"]

    def _follow_scale(self) -> None:
        """Count, on the device, how often the loss scale fell: each time a step was skipped."""
        scale = getattr(self._scaler, "_scale", None)
        if scale is None:
            return
        scale = scale.detach().clone()
        if self._scale is not None:
            fell = (scale < self._scale).float()
            self._skipped = fell if self._skipped is None else self._skipped + fell
        self._scale = scale

    def _amp(self) -> None:
        scale = getattr(self._scaler, "_scale", None)
        if scale is not None:
            self._logged["amp/loss_scale"] = scale.detach().clone()
            if self._skipped is not None:
                self._logged["amp/skipped_steps"] = self._skipped

    def _tell_precision(self) -> None:
        """What autocast does is known once the first step is over."""
        own = str(self._parameters[0][1].dtype).removeprefix("torch.") if self._parameters else "float32"
        self._context |= {"amp": self._context["amp"] or self._autocast is not None, "precision": self._autocast or own}
        self._run.update_config(watch=self._context)

    def _dead_units_of(self, name: str) -> Callable[..., None]:
        def dead_units(module: nn.Module, args: Any, output: Any) -> None:
            step = self._now()
            if module.training and self.schedule.due("dead_units", step):
                with self.schedule.running("dead_units", step, done=False), self._torch.no_grad():
                    values = output.detach()
                    # Units come last, but channels of images second.
                    units = values.transpose(1, -1) if values.dim() >= 4 else values
                    self._dead[name] = (units.reshape(-1, units.shape[-1]).abs().amax(dim=0) == 0).float().mean()

        return dead_units

    def _log_dead_units(self) -> None:
        self._logged.update({f"train/dead_units/{name}": share for name, share in self._dead.items()})
        self._dead.clear()

    def _performance(self) -> None:
        told = self._clock.told()
        if told and self._counters is not None:
            told["train/performance/memory_rss"] = self._counters.process_bytes()
        self._logged.update(told)

    def _overhead(self) -> None:
        self._logged["pulseboard/overhead"] = self.schedule.overhead()


_ACTIVATIONS = {"ReLU", "ReLU6", "LeakyReLU", "PReLU", "ELU", "CELU", "SELU", "GELU", "SiLU", "Mish", "Softplus"}


def part_of(parameter: str) -> str:
    """The part of the model a parameter belongs to: its first name; the model itself for a bare one."""
    head, dot, _ = parameter.partition(".")
    return head if dot else "model"


def layer_of(parameter: str) -> str:
    """The layer of a parameter: all up to the first number in its name; its part where there is none."""
    numbered = re.match(r"(?:[^.]+\.)*?\d+(?=\.)", parameter)
    return numbered[0] if numbered else part_of(parameter)


def _counters_or_none() -> Any:
    try:
        return open_counters()
    except ImportError:  # no /proc, and no psutil
        return None
