import math

import torch
from torch import nn


class Model(nn.Module):
    """Causal attention; returns a dict of the result and its weights."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        mask = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(mask, float("-inf")).softmax(-1)
        return {"y": self.out((weights @ v).transpose(1, 2).reshape(batch, length, width)), "weights": weights}


def get_inputs():
    return [torch.randn(2, 12, 32)]


def get_init_inputs():
    return [32, 4]


BROKEN = '''
import math

import torch
from torch import nn

class ModelNew(nn.Module):
    """The causal mask is missing."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        weights = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).softmax(-1)
        return {"y": self.out((weights @ v).transpose(1, 2).reshape(batch, length, width)), "weights": weights}
'''
