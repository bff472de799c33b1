import torch
from torch import nn


class Model(nn.Module):
    """Linear, batch norm with running statistics, and a dropout that stays on: a random forward."""

    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.BatchNorm1d(features)
        self.norm.running_mean.normal_()
        self.norm.running_var.uniform_(0.5, 2.0)

    def forward(self, x):
        return torch.nn.functional.dropout(self.norm(self.linear(x)), p=0.3, training=True)


def get_inputs():
    return [torch.randn(32, 24)]


def get_init_inputs():
    return [24]


BROKEN = '''
import torch
from torch import nn

class ModelNew(nn.Module):
    """Statistics of the batch instead of the running ones."""

    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.BatchNorm1d(features)

    def forward(self, x):
        y = self.linear(x)
        y = (y - y.mean(0)) / (y.var(0, unbiased=False) + self.norm.eps).sqrt() * self.norm.weight + self.norm.bias
        return torch.nn.functional.dropout(y, p=0.3, training=True)
'''
