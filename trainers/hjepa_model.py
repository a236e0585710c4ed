"""The model of trainers/hjepa.py: context encoder, predictor and target encoder."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

LEVELS = 3


class Block(nn.Module):
    """A transformer layer: attention, then two linear layers, each with a residual connection."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.wide, self.narrow = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        samples, tokens, dim = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(samples, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(samples, tokens, dim)
        x = x + self.out(attended)
        return x + self.narrow(F.gelu(self.wide(self.norm2(x))))


def positions(grid: int, dim: int) -> torch.Tensor:
    """Sines and cosines of the row and column of each patch: (1, patches, dim)."""
    line = torch.arange(grid).float()
    waves = line.view(-1, 1) / 100.0 ** (torch.arange(dim // 4) / (dim // 4))
    along = torch.cat([waves.sin(), waves.cos()], dim=1)  # for rows and for columns
    both = torch.cat([along.unsqueeze(1).expand(-1, grid, -1), along.unsqueeze(0).expand(grid, -1, -1)], dim=2)
    return 0.3 * both.reshape(1, grid * grid, dim)


def pooled(x: torch.Tensor, level: int) -> torch.Tensor:
    """Features of a level: means over squares of 1, 4 or 16 patches, fewer at the edge. (samples, positions, dim)."""
    if level == 0:
        return x
    grid = math.isqrt(x.shape[1])
    square = x.transpose(1, 2).unflatten(2, (grid, grid))
    return F.avg_pool2d(square, 2**level, ceil_mode=True, count_include_pad=False).flatten(2).transpose(1, 2)


class Encoder(nn.Module):
    """Patches in, one embedding per patch out; with `visible`, only of those patches."""

    def __init__(self, *, channels: int, grid: int, patch: int, dim: int, depth: int, heads: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(channels, dim, patch, stride=patch)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(dim)
        self.register_buffer("positions", positions(grid, dim), persistent=False)

    def forward(self, pixels: torch.Tensor, visible: torch.Tensor | None = None) -> torch.Tensor:
        x = self.patches(pixels).flatten(2).transpose(1, 2) + self.positions
        if visible is not None:
            x = x.gather(1, visible.unsqueeze(2).expand(-1, -1, x.shape[2]))
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


class Predictor(nn.Module):
    """Embeddings of visible patches in; for each level, predicted embeddings of all positions out."""

    def __init__(self, *, grid: int, encoder_dim: int, dim: int, depth: int, heads: int) -> None:
        super().__init__()
        self.enter = nn.Linear(encoder_dim, dim)
        self.hidden = nn.Parameter(torch.zeros(1, 1, dim))  # in the place of hidden patches
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(dim)
        self.leave = nn.ModuleList(nn.Linear(dim, encoder_dim) for _ in range(LEVELS))
        self.register_buffer("positions", positions(grid, dim), persistent=False)

    def forward(self, embeddings: torch.Tensor, visible: torch.Tensor) -> list[torch.Tensor]:
        known = self.enter(embeddings)
        x = self.hidden.expand(len(known), self.positions.shape[1], -1)
        x = x.scatter(1, visible.unsqueeze(2).expand_as(known), known) + self.positions
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return [leave(pooled(x, level)) for level, leave in enumerate(self.leave)]


class HJEPA(nn.Module):
    """Images and masks in; for each level, predictions, targets, and which positions are hidden out.

    `grid` is the number of patches per side. With `raw_targets`, targets are not normalized.
    """

    def __init__(
        self,
        *,
        channels: int,
        grid: int,
        patch: int,
        dim: int,
        depth: int,
        heads: int,
        predictor_dim: int,
        predictor_depth: int,
        raw_targets: bool = False,
    ) -> None:
        super().__init__()
        self.raw_targets = raw_targets
        self.context_encoder = Encoder(channels=channels, grid=grid, patch=patch, dim=dim, depth=depth, heads=heads)
        self.predictor = Predictor(grid=grid, encoder_dim=dim, dim=predictor_dim, depth=predictor_depth, heads=heads)
        self.target_encoder = copy.deepcopy(self.context_encoder).requires_grad_(False)

    def features_of_all(self, pixels: torch.Tensor) -> torch.Tensor:
        """The target encoder's features of whole images. Without gradients: it only follows the context encoder."""
        with torch.no_grad():
            return self.target_encoder(pixels)

    def targets(self, pixels: torch.Tensor) -> list[torch.Tensor]:
        """The targets of each level: normalized features, minus their mean over the batch at each position.

        The position of a patch is the same in every image and the easiest thing to predict. Without subtracting the
        mean, features would encode positions and little else.
        """
        features = self.features_of_all(pixels)
        levels = [pooled(features, level) for level in range(LEVELS)]
        if not self.raw_targets:
            levels = [F.layer_norm(x, x.shape[-1:]) for x in levels]
        return [x - x.mean(dim=0, keepdim=True) for x in levels]

    def forward(self, pixels: torch.Tensor, masks: torch.Tensor) -> list[tuple[torch.Tensor, ...]]:
        # All images of a batch show the same number of patches: that of the image with the fewest.
        keep = max(1, int((~masks).sum(dim=1).min()))
        random_order = 0.5 * torch.rand(masks.shape).to(masks.device)
        visible = (masks + random_order).argsort(dim=1)[:, :keep]
        predicted = self.predictor(self.context_encoder(pixels, visible), visible)
        hidden = [pooled(masks.float().unsqueeze(2), level).squeeze(2) >= 0.5 for level in range(LEVELS)]
        return list(zip(predicted, self.targets(pixels), hidden, strict=True))
