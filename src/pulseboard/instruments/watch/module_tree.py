"""The module tree: which modules a torch model has, and the parameters that each one owns."""

from __future__ import annotations

from typing import Any

from pulseboard.core.module_tree import Module, ModuleTree, Parameter

# Keeps the file to a few megabytes. Models with thousands of modules repeat a few blocks, so the first ones suffice.
MAX_MODULES, MAX_PARAMETERS = 5_000, 20_000


def module_tree(model: Any, *, max_modules: int = MAX_MODULES, max_parameters: int = MAX_PARAMETERS) -> ModuleTree:
    """The model's modules in its own order, and how many were left out beyond the limits."""
    found: dict[str, tuple[str, list[Parameter]]] = {}
    first_names: dict[int, str] = {}  # a parameter with two names is counted under its first
    listed = left_out_modules = left_out_parameters = total = trained = 0
    for path, module in model.named_modules():
        path = unwrapped_name(f"{path}.").rstrip(".")
        parameters = []
        for name, parameter in module.named_parameters(recurse=False, remove_duplicate=False):
            full_name = f"{path}.{name}" if path else name
            first_name = first_names.setdefault(id(parameter), full_name)
            described = _describe(name, parameter, tied_to=None if first_name == full_name else first_name)
            total += described.count
            trained += described.count if described.trained else 0
            parameters.append(described)
        if path not in found and len(found) >= max_modules:
            left_out_modules += 1
            continue
        kept = parameters[: max(0, max_parameters - listed)]
        listed += len(kept)
        left_out_parameters += len(parameters) - len(kept)
        # A DDP or torch.compile wrapper has the same path and no parameters: the class of the model itself wins.
        found[path] = (type(module).__name__, found.get(path, ("", []))[1] + kept)
    return ModuleTree(
        modules=tuple(Module(path, kind, tuple(parameters)) for path, (kind, parameters) in found.items()),
        parameters=total,
        trained_parameters=trained,
        left_out_modules=left_out_modules,
        left_out_parameters=left_out_parameters,
    )


def unwrapped_name(name: str) -> str:
    """The name of a parameter or module without the prefixes that DDP, FSDP and torch.compile add."""
    return name.removeprefix("module.").replace("_orig_mod.", "").replace("_fsdp_wrapped_module.", "")


def _describe(name: str, parameter: Any, *, tied_to: str | None) -> Parameter:
    try:
        shape = tuple(int(size) for size in parameter.shape)
    except (RuntimeError, ValueError):  # a parameter of a lazy module, before its first batch
        shape = None
    dtype = str(parameter.dtype).removeprefix("torch.")
    return Parameter(name, shape, dtype, bool(parameter.requires_grad), tied_to)
