"""The experts of trainers/moe.py, in the place of a GPT's feed-forward parts."""

import math
from types import SimpleNamespace

import torch
from gpt_model import MLP
from torch import nn


class Experts(nn.Module):
    """A router sends each token to `top_k` experts, up to the capacity of each expert.

    `rules` (top_k, capacity_factor) is shared by all layers. After a forward pass these attributes describe it, for the
    loss and the log: logits, counts (tokens that chose each expert), dropped (choices beyond capacity).
    """

    def __init__(self, n_embd: int, n_experts: int, dropout: float, rules: SimpleNamespace) -> None:
        super().__init__()
        self.rules = rules
        self.router = nn.Linear(n_embd, n_experts, bias=False)
        self.experts = nn.ModuleList(MLP(n_embd, dropout, 2 * n_embd) for _ in range(n_experts))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens = x.flatten(0, 1)
        with torch.autocast(x.device.type, enabled=False):  # in 16 bits, rounding would decide close choices
            self.logits = nn.functional.linear(tokens.float(), self.router.weight.float())
            probabilities = self.logits.softmax(dim=-1)
        weight, chosen = probabilities.topk(self.rules.top_k, dim=-1)
        weight = (weight / weight.sum(dim=-1, keepdim=True)).to(x.dtype)
        n_experts = len(self.experts)
        capacity = math.ceil(self.rules.capacity_factor * tokens.shape[0] * self.rules.top_k / n_experts)
        out = torch.zeros_like(tokens)
        counts, dropped = [], 0
        for number, expert in enumerate(self.experts):
            token, choice = (chosen == number).nonzero(as_tuple=True)
            counts.append(len(token))
            dropped += max(0, len(token) - capacity)
            token, choice = token[:capacity], choice[:capacity]  # first come, first served
            # Also without tokens: DDP needs gradients from every expert, even zeros.
            expert_out = expert(tokens[token]) * weight[token, choice, None]
            out = out.index_add(0, token, expert_out.to(out.dtype))
        self.counts = torch.tensor(counts, dtype=torch.float32, device=x.device)
        self.dropped = float(dropped)
        share = self.counts / self.counts.sum()
        self.aux_loss = n_experts * (share * probabilities.mean(dim=0)).sum()  # 1 if the load is even
        self.z_loss = self.logits.logsumexp(dim=-1).square().mean()
        return out.view_as(x)
