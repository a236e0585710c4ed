"""Images to train on: generated from a seed, or read from a folder.

`shapes` are ten kinds of shape with noise, for the classifier and the diffusion model. `textures` are gratings with
noise, for self-supervised training: their structure spans the whole image and is hidden in every single pixel.
Pixels range from about -1 to 1.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F


@dataclass(frozen=True)
class Images:
    """Images and their labels."""

    pixels: torch.Tensor  # (images, channels, height, width)
    labels: torch.Tensor  # (images,)
    names: tuple[str, ...]  # of the labels

    def __len__(self) -> int:
        return len(self.labels)

    def at(self, index: torch.Tensor | slice) -> tuple[torch.Tensor, torch.Tensor]:
        """Pixels and labels of some images."""
        return self.pixels[index], self.labels[index]


def random_of(*numbers: int) -> torch.Generator:
    """A random generator that depends only on these numbers: (seed, step) gives the same one after a resume."""
    mixed = 0
    for number in numbers:
        mixed = (mixed * 1_000_003 + number + 1) % (2**63 - 1)
    return torch.Generator().manual_seed(mixed)


def batch_of(images: Images, *, step: int, batch_size: int, seed: int) -> torch.Tensor:
    """The indices of the images of a step; every epoch shuffles all of them again."""
    steps_per_epoch = max(1, len(images) // batch_size)
    epoch, at = divmod(step, steps_per_epoch)
    order = torch.randperm(len(images), generator=random_of(seed, 7, epoch))
    return order[at * batch_size : (at + 1) * batch_size]


# ---- shapes

SHAPES = ("disc", "ring", "square", "frame", "diamond", "triangle", "plus", "cross", "wide bar", "tall bar")


def shapes(
    count: int,
    *,
    size: int = 24,
    noise: float = 0.5,
    seed: int = 0,
    scales: tuple[float, float] = (0.45, 0.8),
) -> Images:
    """One bright or dark shape per image, with random position, size and tilt; `noise` is a standard deviation."""
    random = random_of(seed, 1)
    labels = torch.randint(len(SHAPES), (count,), generator=random)

    def between(low: float, high: float) -> torch.Tensor:
        return (low + (high - low) * torch.rand(count, generator=random)).view(-1, 1, 1)

    scale = between(*scales)
    across, down, tilt = between(-1, 1) * (1 - scale), between(-1, 1) * (1 - scale), between(-0.2, 0.2)
    strength = between(0.7, 1.3) * torch.where(between(0, 1) < 0.5, -1.0, 1.0)
    line = torch.linspace(-1, 1, size)
    x, y = (line.view(1, 1, -1) - across) / scale, (line.view(1, -1, 1) - down) / scale
    x, y = x * tilt.cos() + y * tilt.sin(), y * tilt.cos() - x * tilt.sin()
    round_, box = (x * x + y * y).sqrt(), torch.maximum(x.abs(), y.abs())
    arms = torch.minimum(x.abs(), y.abs())
    slanted = torch.minimum((x + y).abs(), (x - y).abs()) / math.sqrt(2)
    thick = 0.28
    # The distance of each point from each shape; negative inside.
    outside = torch.stack(
        [
            round_ - 0.9,
            (round_ - 0.75).abs() - thick / 2,
            box - 0.8,
            (box - 0.7).abs() - thick / 2,
            x.abs() + y.abs() - 1.0,
            torch.maximum(y - 0.8, 2 * x.abs() - y - 0.8),
            torch.maximum(arms - thick / 2, box - 0.9),
            torch.maximum(slanted - thick / 2, box - 0.8),
            torch.maximum(y.abs() - thick, x.abs() - 0.95),
            torch.maximum(x.abs() - thick, y.abs() - 0.95),
        ]
    )
    chosen = outside[labels, torch.arange(count)]
    inside = (0.5 - chosen * scale * size / 2).clamp(0, 1)  # an edge is one pixel wide
    pixels = (2 * inside - 0.6) * strength * 0.7
    pixels = pixels + noise * torch.randn(pixels.shape, generator=random)
    return Images(pixels.unsqueeze(1), labels, SHAPES)


# ---- textures


def textures(count: int, *, size: int = 32, noise: float = 0.7, directions: int = 8, seed: int = 0) -> Images:
    """Waves in many directions, one stronger than the others: its direction is the label.

    Phase, wavelength and strength are random, so that no pixel and no sum of pixels reveals the label. But all parts of
    an image share their waves: to predict one part from the others, a model has to find them.
    """
    random = random_of(seed, 2)
    labels = torch.randint(directions, (count,), generator=random)

    def between(low: float, high: float) -> torch.Tensor:
        return low + (high - low) * torch.rand(count, directions, 1, generator=random)

    angle = (torch.arange(directions).view(1, -1, 1) + between(-0.25, 0.25)) * math.pi / directions
    waves = 2 * math.pi / between(5, 8)
    strength = torch.where(F.one_hot(labels, directions).bool().unsqueeze(2), between(0.8, 1.2), between(0, 0.5))
    line = torch.arange(size) - (size - 1) / 2
    # cos(a + b) = cos a cos b - sin a sin b: two matrix products instead of a cosine for every pixel and wave.
    across, down = waves * angle.cos() * line, waves * angle.sin() * line + between(0, 2 * math.pi)
    pixels = (strength * down.cos()).mT @ across.cos() - (strength * down.sin()).mT @ across.sin()
    pixels = 0.6 * (pixels + noise * torch.randn(pixels.shape, generator=random))
    return Images(pixels.unsqueeze(1), labels, tuple(f"{180 * i / directions:g} degrees" for i in range(directions)))


# ---- a folder


def folder(path: str, *, size: int, max_images: int | None = None, seed: int = 0) -> Images:
    """The images in a folder; each subfolder is a label. Without subfolders, all labels are 0."""
    try:
        from PIL import Image
    except ImportError:
        raise SystemExit("Reading images needs Pillow: pip install pillow") from None
    root = Path(path)
    names = tuple(sorted(p.name for p in root.iterdir() if p.is_dir())) if root.is_dir() else ()
    suffixes = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".ppm", ".pgm", ".tif", ".tiff"}
    found = [
        (file, label)
        for label, name in enumerate(names or ("",))
        for file in sorted((root / name).rglob("*"))
        if file.suffix.lower() in suffixes
    ]
    if not found:
        raise SystemExit(f"No images ({', '.join(sorted(suffixes))}) in {path}")
    chosen = torch.randperm(len(found), generator=random_of(seed, 3))[:max_images].tolist()
    pixels, labels = [], []
    for i in chosen:
        file, label = found[i]
        with Image.open(file) as image:
            small = image.convert("RGB").resize((size, size), Image.Resampling.BILINEAR)
        pixels.append(torch.frombuffer(bytearray(small.tobytes()), dtype=torch.uint8).view(size, size, 3))
        labels.append(label)
    stacked = torch.stack(pixels).permute(0, 3, 1, 2).float() / 127.5 - 1
    return Images(stacked.contiguous(), torch.tensor(labels), names or ("all",))


def split(images: Images, *, held_out: float = 0.2) -> tuple[Images, Images]:
    """All but the last images, and the last ones as a held-out share."""
    cut = len(images) - max(1, int(len(images) * held_out))
    first, last = images.at(slice(0, cut)), images.at(slice(cut, None))
    return Images(*first, images.names), Images(*last, images.names)


def image_grid(pixels: torch.Tensor, *, columns: int = 8) -> torch.Tensor:
    """Images side by side in one, with values from 0 to 1, for `run.image`."""
    count, channels, height, width = pixels.shape
    rows = -(-count // columns)
    grid = torch.zeros(channels, rows * (height + 1) - 1, columns * (width + 1) - 1)
    for i, image in enumerate(pixels.detach().float().cpu()):
        top, left = i // columns * (height + 1), i % columns * (width + 1)
        grid[:, top : top + height, left : left + width] = (image.clamp(-1, 1) + 1) / 2
    return grid
