import torch
from torch import nn


class Model(nn.Module):
    """Table look-up by int64 positions, scaled."""

    def __init__(self, rows, width):
        super().__init__()
        self.table = nn.Embedding(rows, width)

    def forward(self, positions):
        return self.table(positions) * 0.5


def get_inputs():
    return [torch.randint(0, 50, (7, 9))]


def get_init_inputs():
    return [50, 24]


BROKEN = '''
import torch
from torch import nn

class ModelNew(nn.Module):
    """Off by one in the table."""

    def __init__(self, rows, width):
        super().__init__()
        self.table = nn.Embedding(rows, width)

    def forward(self, positions):
        return self.table((positions + 1) % self.table.num_embeddings) * 0.5
'''
