import torch
from torch import nn


class Model(nn.Module):
    """Max pooling that returns values and their int64 positions, as a tuple."""

    def __init__(self, kernel_size):
        super().__init__()
        self.pool = nn.MaxPool2d(kernel_size, return_indices=True)

    def forward(self, x):
        return self.pool(x)


def get_inputs():
    return [torch.randn(2, 4, 18, 18)]


def get_init_inputs():
    return [3]


BROKEN = '''
import torch
from torch import nn

class ModelNew(nn.Module):
    """Average where the maximum belongs; the positions are right."""

    def __init__(self, kernel_size):
        super().__init__()
        self.kernel_size = kernel_size

    def forward(self, x):
        _, positions = torch.nn.functional.max_pool2d(x, self.kernel_size, return_indices=True)
        return torch.nn.functional.avg_pool2d(x, self.kernel_size), positions
'''
