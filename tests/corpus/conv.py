import torch
from torch import nn


class Model(nn.Module):
    """Convolution with bias, stride and padding, then ReLU."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride=stride, padding=padding)

    def forward(self, x):
        return torch.relu(self.conv(x))


def get_inputs():
    return [torch.randn(2, 3, 17, 19)]


def get_init_inputs():
    return {"in_channels": 3, "out_channels": 8, "kernel_size": 3, "stride": 2, "padding": 1}


BROKEN = '''
import torch
from torch import nn

class ModelNew(nn.Module):
    """The border is padded by repetition instead of zeros."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride=stride, padding=padding, padding_mode="replicate")

    def forward(self, x):
        return torch.relu(self.conv(x))
'''
