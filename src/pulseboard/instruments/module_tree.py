"""The module tree: what modules a torch model has, and which parameters are each one's own."""

from __future__ import annotations

from typing import Any

from pulseboard.core.module_tree import Module, ModuleTree, Parameter

# A file of some megabytes at most. Models of thousands of modules repeat a few blocks: the first ones say it all.
MOST_MODULES, MOST_PARAMETERS = 5_000, 20_000


def module_tree(model: Any, *, most_modules: int = MOST_MODULES, most_parameters: int = MOST_PARAMETERS) -> ModuleTree:
    """The model's modules in its own order, and how many were left out beyond the first `most_modules`."""
    found: dict[str, tuple[str, list[Parameter]]] = {}
    names: dict[int, str] = {}  # of each parameter the first: one that is used twice is counted once
    listed = left_out_modules = left_out_parameters = total = trained = 0
    for path, module in model.named_modules():
        path = own_name(f"{path}.").rstrip(".")
        parameters = []
        for name, parameter in module.named_parameters(recurse=False, remove_duplicate=False):
            whole = f"{path}.{name}" if path else name
            first = names.setdefault(id(parameter), whole)
            described = _parameter(name, parameter, tied_to=None if first == whole else first)
            total += described.count
            trained += described.count if described.trained else 0
            parameters.append(described)
        if path not in found and len(found) >= most_modules:
            left_out_modules += 1
            continue
        taken = parameters[: max(0, most_parameters - listed)]
        listed += len(taken)
        left_out_parameters += len(parameters) - len(taken)
        # What DDP or torch.compile put around the model has its name and no parameters: the model's own class counts.
        found[path] = (type(module).__name__, found.get(path, ("", []))[1] + taken)
    return ModuleTree(
        modules=tuple(Module(path, kind, tuple(parameters)) for path, (kind, parameters) in found.items()),
        parameters=total,
        trained_parameters=trained,
        left_out_modules=left_out_modules,
        left_out_parameters=left_out_parameters,
    )


def own_name(name: str) -> str:
    """The name of a parameter or module in the model itself: without what DDP, FSDP and torch.compile put around it."""
    for wrapping in ("module.", "_orig_mod.", "_fsdp_wrapped_module."):
        name = name.replace(wrapping, "") if wrapping != "module." else name.removeprefix("module.")
    return name


def _parameter(name: str, parameter: Any, *, tied_to: str | None) -> Parameter:
    try:
        shape = tuple(int(size) for size in parameter.shape)
    except (RuntimeError, ValueError):  # a lazy module's, before its first batch
        shape = None
    dtype = str(parameter.dtype).removeprefix("torch.")
    return Parameter(name, shape, dtype, bool(parameter.requires_grad), tied_to)
