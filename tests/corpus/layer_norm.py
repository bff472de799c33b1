import torch
from torch import nn


class Model(nn.Module):
    """Layer norm over the last three dimensions; the init input is a tuple inside the list."""

    def __init__(self, normalized_shape):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x):
        return self.ln(x)


def get_inputs():
    return [torch.rand(4, 8, 16, 16) * 3]


def get_init_inputs():
    return [(8, 16, 16)]


BROKEN = '''
import torch
from torch import nn

class ModelNew(nn.Module):
    """Unbiased variance where the biased one belongs, over the last dimension only."""

    def __init__(self, normalized_shape):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x):
        centred = x - x.mean(dim=-1, keepdim=True)
        return centred / (x.var(dim=-1, keepdim=True) + 1e-5).sqrt() * self.ln.weight + self.ln.bias
'''
