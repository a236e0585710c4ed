"""Small PyTorch models and the parts of a training loop that several bases share."""

from typing import Any


def small_cnn(size: int, classes: int, *, width: int = 8, normalized: bool = True) -> Any:
    """Two convolutions and a linear layer. `backbone` is all but the last one."""
    from collections import OrderedDict

    from torch import nn

    def block(channels_in: int, channels_out: int) -> list[nn.Module]:
        norm = [nn.BatchNorm2d(channels_out)] if normalized else []
        return [nn.Conv2d(channels_in, channels_out, 3, padding=1), *norm, nn.ReLU(), nn.MaxPool2d(2)]

    backbone = nn.Sequential(*block(1, width), *block(width, 2 * width), nn.Flatten())
    head = nn.Linear(2 * width * (size // 4) ** 2, classes)
    return nn.Sequential(OrderedDict(backbone=backbone, head=head))


def scale_weights(model: Any, factor: float) -> None:
    """Multiply every weight matrix, as a wrong initialization does."""
    import torch

    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(factor)


def freeze(module: Any) -> None:
    """Exclude the module from training."""
    for parameter in module.parameters():
        parameter.requires_grad_(False)


def one_thread(seed: int) -> None:
    """Seed PyTorch and use one core."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)
