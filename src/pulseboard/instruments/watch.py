"""watch: what can be measured of a torch training from outside its loop, by hooks on the model and the optimizer.

Everything is batched over all parameters with torch's foreach kernels, stays on the tensors' device, and is
logged without waiting for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pulseboard.instruments.schedule import Schedule, parse_overhead
from pulseboard.record.report import say_once
from pulseboard.record.run import Run, current_run

if TYPE_CHECKING:
    import torch
    from torch import nn

# Steps between measurements: the logging-frequency table of the H-JEPA guide, and its spirit for the rest.
CADENCES = {
    "gradient_norm": 1,
    "learning_rate": 100,
    "gradient_flow": 100,
    "parameter_norm": 100,
    "update": 100,
    "sparsity": 500,
    "timing": 1,
    "performance": 100,
    "amp": 100,
    "checksum": 500,
    "dead_units": 100,
    "overhead": 100,
}


def watch(
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
    *,
    run: Run | None = None,
    scaler: Any = None,
    overhead: str | float | None = "1%",
    histogram_interval: int | None = None,
    dead_units: bool = False,
    every: dict[str, int] | None = None,
    start_step: int = 0,
) -> Watch:
    """Measure `model` while `optimizer` trains it, and log to `run` (the one begun last where it is None).

    `every` overrides cadences (CADENCES), `overhead` bounds what all of it costs as a share of step time,
    `scaler` is the GradScaler of mixed precision. `close` removes the hooks.
    """
    run = run or current_run()
    if run is None:
        raise ValueError("watch() has no run to log to: call pulseboard.init() first, or pass run=.")
    unknown = set(every or {}) - set(CADENCES)
    if unknown:
        raise ValueError(f"watch() has no cadence {sorted(unknown)[0]!r}; there are {', '.join(CADENCES)}.")
    return Watch(
        model,
        optimizer,
        run=run,
        scaler=scaler,
        budget=parse_overhead(overhead),
        histogram_interval=run.settings.histogram_interval if histogram_interval is None else histogram_interval,
        dead_units=dead_units,
        cadences={**CADENCES, **(every or {})},
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
        budget: float | None,
        histogram_interval: int,
        dead_units: bool,
        cadences: dict[str, int],
        start_step: int,
    ) -> None:
        import torch

        self._torch = torch
        self._model, self._optimizer, self._scaler, self._run = model, optimizer, scaler, run
        self._step = start_step
        self._parameters = [(_clean(name), p) for name, p in model.named_parameters()]
        self._sharded = any(hasattr(p, "to_local") for _, p in self._parameters)
        # Ranks of a sharded model add up their parts: all of them must do so at the same steps.
        self.schedule = Schedule(budget=None if self._sharded else budget)
        for id, every in cadences.items():
            self.schedule.add(id, every=every)
        self.schedule.add("histograms", every=histogram_interval)
        self._clock = _Clock(torch, model)
        self._before: list[torch.Tensor] | None = None
        self._logged: dict[str, Any] = {}
        self._dead: dict[str, Any] = {}
        self._skipped: Any = None
        self._scale: Any = None
        self._handles: list[Any] = []
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
        if dead_units:
            for name, module in self._model.named_modules():
                if type(module).__name__ in _ACTIVATIONS:
                    self._handles.append(module.register_forward_hook(safe(self._dead_units_of(_clean(name)))))

    def _forward_begins(self, model: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        if not model.training:
            return
        self._clock.forward_begins(args, named)
        if self._scaler is not None:
            self._follow_scale()

    def _forward_ended(self, model: nn.Module, args: Any, output: Any) -> None:
        if model.training:
            self._clock.forward_ended()

    def _step_begins(self, optimizer: Any, args: Any, named: Any) -> None:
        step = self._now()
        self._clock.step_begins()
        for id, measure in (
            ("gradient_norm", self._gradient_norm),
            ("gradient_flow", self._gradient_flow),
            ("sparsity", self._sparsity),
            ("update", self._keep_parameters),
        ):
            if self.schedule.due(id, step):
                with self.schedule.running(id, step), self._torch.no_grad():
                    measure()
        if self.schedule.due("histograms", step):
            with self.schedule.running("histograms", step), self._torch.no_grad():
                self._histograms(step)

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
            if self.schedule.due(id, step):
                with self.schedule.running(id, step), self._torch.no_grad():
                    measure()
        for id, own in (("timing", self._timing), ("checksum", self._checksum)):
            if self._run.rank.world_size > 1 and self.schedule.due(id, step):
                with self.schedule.running(id, step), self._torch.no_grad():
                    self._run.log(own(), step, per_rank=True)
        if self._logged:
            logged, self._logged = self._logged, {}
            self._run.log_aside(logged, step)
        self._step = step + 1
        self.schedule.stepped()

    def _now(self) -> int:
        """The step under way. A loop that resumed says so by what it logs."""
        return max(self._step, self._run.last_step)

    # ---- gradients

    def _gradients(self) -> list[torch.Tensor]:
        return [_local(p.grad) for _, p in self._parameters if p.grad is not None]

    def _norms(self, tensors: list[torch.Tensor], order: float = 2.0) -> torch.Tensor:
        """One norm a tensor, computed together."""
        return self._torch.stack([n.float() for n in self._torch._foreach_norm(tensors, order)])

    def _total(self, norms: torch.Tensor) -> torch.Tensor:
        """The norm of everything, from the norms of its parts; over all ranks of a sharded model."""
        squares = norms.square().sum()
        if self._sharded:
            self._torch.distributed.all_reduce(squares)
        return squares.sqrt()

    def _gradient_norm(self) -> None:
        if gradients := self._gradients():
            self._logged["train/gradient_flow/global_norm"] = self._total(self._norms(gradients))

    def _gradient_flow(self) -> None:
        by_module: dict[str, list[torch.Tensor]] = {}
        for name, p in self._parameters:
            of = by_module.setdefault(_module_of(name), [])
            if p.grad is not None:
                of.append(_local(p.grad))
        for module, gradients in by_module.items():
            count = sum(g.numel() for g in gradients)
            if not count:  # frozen, as a target encoder is
                self._logged[f"train/gradient_flow/{module}_mean"] = 0.0
                self._logged[f"train/gradient_flow/{module}_max"] = 0.0
                continue
            whole = [g for g in gradients if g.numel()]
            self._logged[f"train/gradient_flow/{module}_mean"] = self._norms(whole, 1.0).sum() / count
            self._logged[f"train/gradient_flow/{module}_max"] = self._norms(whole, float("inf")).max()

    def _sparsity(self) -> None:
        trained = [p for _, p in self._parameters if p.requires_grad]
        missing = sum(p.grad is None for p in trained)
        self._logged["train/gradient_flow/none_share"] = missing / max(1, len(trained))
        if gradients := [g for g in self._gradients() if g.numel()]:
            zeros = self._torch.stack([(g == 0).sum() for g in gradients]).sum()
            self._logged["train/gradient_flow/zero_share"] = zeros / sum(g.numel() for g in gradients)

    # ---- parameters

    def _trained(self) -> list[torch.Tensor]:
        return [_local(p.detach()) for _, p in self._parameters if p.requires_grad]

    def _parameter_norm(self) -> None:
        if parameters := [_local(p.detach()) for _, p in self._parameters]:
            self._logged["train/total_param_norm"] = self._total(self._norms(parameters))

    def _keep_parameters(self) -> None:
        self._before = [p.clone() for p in self._trained()]

    def _update(self) -> None:
        before, self._before = self._before or [], None
        if not before:
            return
        norm = self._total(self._norms(before))
        # In place on the copies: no second copy of the model.
        self._torch._foreach_sub_(before, self._trained())
        count = sum(d.numel() for d in before)
        self._logged["train/update_ratio"] = self._total(self._norms(before)) / norm
        changed = self._norms([d for d in before if d.numel()], 1.0).sum()
        self._logged["train/learning_rate/avg_param_update"] = changed / max(1, count)

    def _checksum(self) -> dict[str, Any]:
        """A number that is the same on every rank of a replicated model, and on no two that have drifted apart."""
        if self._sharded:
            return {}
        norms = self._norms([p.detach() for _, p in self._parameters])
        weights = self._torch.arange(1, len(norms) + 1, device=norms.device, dtype=norms.dtype)
        return {"rank/param_checksum": (norms * weights).sum()}

    def _histograms(self, step: int) -> None:
        for name, p in self._parameters:
            self._run.histogram(f"Parameters/{name}", _local(p.detach()), step=step)
            if p.grad is not None:
                self._run.histogram(f"Gradients/{name}", _local(p.grad), step=step)

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

    def _dead_units_of(self, name: str) -> Callable[..., None]:
        def dead_units(module: nn.Module, args: Any, output: Any) -> None:
            if module.training and self.schedule.due("dead_units", self._now()):
                with self._torch.no_grad():
                    units = output.detach().reshape(-1, output.shape[-1] if output.dim() < 4 else output.shape[1])
                    if output.dim() >= 4:  # channels come second
                        units = output.detach().transpose(1, -1).reshape(-1, output.shape[1])
                    self._dead[name] = (units.abs().amax(dim=0) == 0).float().mean()

        return dead_units

    def _log_dead_units(self) -> None:
        self._logged.update({f"train/dead_units/{name}": share for name, share in self._dead.items()})
        self._dead.clear()

    def _performance(self) -> None:
        self._logged.update(self._clock.told())

    def _timing(self) -> dict[str, Any]:
        return {"rank/step_time": self._clock.step_secs} if self._clock.step_secs else {}

    def _overhead(self) -> None:
        self._logged["pulseboard/overhead"] = self.schedule.overhead()


class _Clock:
    """Where the time of a step goes, averaged since it was last told.

    On a GPU these are the times of the calling thread, unless the loop waits for the device.
    """

    def __init__(self, torch: Any, model: nn.Module) -> None:
        self._torch = torch
        self.step_secs = 0.0
        self._ended_at: float | None = None
        self._forward_at = self._forward_ended_at = self._step_at = 0.0
        self._fresh = True
        self._reset()

    def _reset(self) -> None:
        self._forward = self._backward = self._optimizer = self._data = self._whole = 0.0
        self._steps = self._samples = self._tokens = 0

    def forward_begins(self, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        now = time.perf_counter()
        if self._ended_at is not None and self._fresh:
            self._data += now - self._ended_at
        elif not self._fresh:  # a further pass of an accumulated step: what came before it was backward
            self._backward += now - self._forward_ended_at
        self._fresh = False
        self._forward_at = now
        first = next((a for a in (*args, *named.values()) if hasattr(a, "shape") and getattr(a, "dim", int)()), None)
        if first is not None:
            self._samples += first.shape[0]
            if not first.is_floating_point() and first.dim() >= 2:  # token ids
                self._tokens += first.shape[0] * first.shape[1]

    def forward_ended(self) -> None:
        self._forward_ended_at = time.perf_counter()
        self._forward += self._forward_ended_at - self._forward_at

    def step_begins(self) -> None:
        self._step_at = time.perf_counter()
        if not self._fresh:
            self._backward += self._step_at - self._forward_ended_at

    def step_ended(self) -> None:
        now = time.perf_counter()
        self._optimizer += now - self._step_at
        if self._ended_at is not None:
            self.step_secs = now - self._ended_at
            self._whole += self.step_secs
            self._steps += 1
        else:
            self._reset()  # the first step loads code; it says nothing
        self._ended_at = now
        self._fresh = True

    def told(self) -> dict[str, float]:
        """The averages, and a new beginning."""
        if not self._steps:
            return {}
        n, ms = self._steps, 1000 / self._steps
        out = {
            "train/performance/forward_time_ms": self._forward * ms,
            "train/performance/backward_time_ms": self._backward * ms,
            "train/performance/total_time_ms": (self._forward + self._backward) * ms,
            "train/performance/optimizer_time_ms": self._optimizer * ms,
            "train/performance/data_time_ms": self._data * ms,
            "train/performance/step_time_ms": self._whole / n * 1000,
            "train/performance/samples_per_second": self._samples / self._whole,
        }
        if self._backward:
            out["train/performance/forward_backward_ratio"] = self._forward / self._backward
        if self._tokens:
            out["train/performance/tokens_per_second"] = self._tokens / self._whole
        cuda = self._torch.cuda
        if cuda.is_available() and cuda.is_initialized():
            out["train/performance/gpu_memory_allocated_gb"] = cuda.memory_allocated() / 2**30
            out["train/performance/gpu_memory_reserved_gb"] = cuda.memory_reserved() / 2**30
        self._reset()
        return out


_ACTIVATIONS = {"ReLU", "ReLU6", "LeakyReLU", "PReLU", "ELU", "CELU", "SELU", "GELU", "SiLU", "Mish", "Softplus"}


def _clean(name: str) -> str:
    """A parameter's own name: without what DDP, FSDP and torch.compile put around the model."""
    for wrapping in ("module.", "_orig_mod.", "_fsdp_wrapped_module."):
        name = name.replace(wrapping, "") if wrapping != "module." else name.removeprefix("module.")
    return name


def _module_of(parameter: str) -> str:
    """The part of the model a parameter belongs to: its first name; the model itself for a bare one."""
    head, dot, _ = parameter.partition(".")
    return head if dot else "model"


def _local(tensor: Any) -> Any:
    """What this rank holds of a sharded tensor."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor
