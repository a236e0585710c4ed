"""The model of trainers/gpt.py: GPT-2, with its parameter names."""

import math

import torch
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    """Each token attends to itself and to earlier ones."""

    def __init__(self, n_embd: int, n_head: int, dropout: float) -> None:
        super().__init__()
        self.n_head, self.dropout = n_head, dropout
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.resid_dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, length, width = x.shape
        projections = self.c_attn(x).split(width, dim=2)
        query, key, value = (p.view(rows, length, self.n_head, -1).transpose(1, 2) for p in projections)
        dropout = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True, dropout_p=dropout)
        return self.resid_dropout(self.c_proj(mixed.transpose(1, 2).reshape(rows, length, width)))


class MLP(nn.Module):
    """Two linear layers; the hidden one is four times as wide by default."""

    def __init__(self, n_embd: int, dropout: float, width: int | None = None) -> None:
        super().__init__()
        self.c_fc = nn.Linear(n_embd, width or 4 * n_embd)
        self.act = nn.GELU(approximate="tanh")
        self.c_proj = nn.Linear(width or 4 * n_embd, n_embd)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.dropout(self.c_proj(self.act(self.c_fc(x))))


class Block(nn.Module):
    """Attention and a feed-forward part, each with a residual connection."""

    def __init__(self, n_embd: int, n_head: int, dropout: float, mlp: nn.Module | None = None) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(n_embd)
        self.attn = Attention(n_embd, n_head, dropout)
        self.ln_2 = nn.LayerNorm(n_embd)
        self.mlp = mlp or MLP(n_embd, dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    """Tokens in, the logits of each next token out; with targets, the loss too."""

    def __init__(self, *, vocab_size: int, block_size: int, n_embd: int, dropout: float, blocks: list[Block]) -> None:
        super().__init__()
        self.block_size = block_size
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(vocab_size, n_embd),
                "wpe": nn.Embedding(block_size, n_embd),
                "drop": nn.Dropout(dropout),
                "h": nn.ModuleList(blocks),
                "ln_f": nn.LayerNorm(n_embd),
            }
        )
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.lm_head.weight = self.transformer["wte"].weight  # tied, as in GPT-2
        std = 0.02 * math.sqrt(768 / n_embd)  # GPT-2's 0.02 at its own width
        for name, parameter in self.named_parameters():
            if name.endswith("c_proj.weight"):  # keeps the variance of the residual stream independent of depth
                nn.init.normal_(parameter, std=std / math.sqrt(2 * len(blocks)))
            elif parameter.dim() >= 2:
                nn.init.normal_(parameter, std=std)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(
        self, tokens: torch.Tensor, targets: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.transformer["drop"](self.transformer["wte"](tokens) + self.transformer["wpe"](positions))
        for block in self.transformer["h"]:
            x = block(x)
        logits = self.lm_head(self.transformer["ln_f"](x))
        if targets is None:
            return logits, None
        return logits, functional.cross_entropy(logits.float().flatten(0, 1), targets.flatten())

    @torch.no_grad()
    def generate(self, tokens: torch.Tensor, count: int, *, temperature: float, random: torch.Generator) -> list[int]:
        """Continue one row of tokens. `random` is separate, so that sampling does not change the training."""
        for _ in range(count):
            logits = self(tokens[:, -self.block_size :])[0][0, -1].float().cpu()
            probabilities = torch.softmax(torch.nan_to_num(logits) / temperature, dim=-1)
            next_token = torch.multinomial(probabilities, 1, generator=random)[None].to(tokens.device)
            tokens = torch.cat([tokens, next_token], dim=1)
        return tokens[0].tolist()
