import torch
from torch import nn


class Model(nn.Module):
    """Softmax over rows whose values are far below one."""

    def forward(self, x):
        return torch.softmax(x, dim=1)


def get_inputs():
    return [torch.randn(16, 4096)]


def get_init_inputs():
    return []


BROKEN = '''
import torch
from torch import nn

class ModelNew(nn.Module):
    """Normalises by the sum of all rows."""

    def forward(self, x):
        e = torch.exp(x - x.amax(dim=1, keepdim=True))
        return e / e.sum()
'''
