"""Arrays: whatever a training loop passes as an array, converted to NumPy."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


def is_tensor(value: Any) -> bool:
    """Whether this is a torch tensor. Does not import torch."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def as_array(values: Any) -> NDArray[Any]:
    """Tensors on any device, arrays, numbers, and lists of these, as an array. Often shares their memory."""
    import numpy as np

    if isinstance(values, np.ndarray):
        return values
    if is_tensor(values):
        return _from_tensor(values)
    if np.isscalar(values):
        return np.array([values])
    if isinstance(values, list | tuple):
        return np.asarray([as_array(item) if is_tensor(item) else item for item in values])
    if hasattr(values, "__array__") or hasattr(values, "__array_interface__"):
        return np.asarray(values)
    raise NotImplementedError(
        f"A {type(values).__name__} is not an array. Pass a NumPy array, a torch tensor or a list."
    )


def _from_tensor(tensor: Any) -> NDArray[Any]:
    import numpy as np

    torch: Any = sys.modules["torch"]
    if tensor.device.type == "meta":
        return np.full(1, np.nan)  # it has a shape but no values
    if tensor.dtype.is_floating_point and tensor.dtype not in (torch.float16, torch.float32, torch.float64):
        tensor = tensor.float()  # bfloat16 and the 8-bit types, which NumPy lacks
    array: NDArray[Any] = tensor.numpy(force=True)
    return array
