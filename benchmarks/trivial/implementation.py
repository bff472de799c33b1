import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return torch.mm(a, b).clamp_(min=0)
