import torch
from torch import nn


class Model(nn.Module):
    """One step of a recurrent cell; returns output and new hidden state, nested."""

    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.h2o = nn.Linear(hidden_size, output_size)

    def forward(self, x, hidden):
        hidden = torch.tanh(self.i2h(torch.cat((x, hidden), dim=1)))
        return self.h2o(hidden), [hidden, x.shape[0]]


def get_inputs():
    return [torch.randn(8, 20), torch.randn(8, 16)]


def get_init_inputs():
    return [20, 16, 10]


BROKEN = '''
import torch
from torch import nn

class ModelNew(nn.Module):
    """The activation is missing from the state that is handed on."""

    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.h2o = nn.Linear(hidden_size, output_size)

    def forward(self, x, hidden):
        raw = self.i2h(torch.cat((x, hidden), dim=1))
        return self.h2o(torch.tanh(raw)), [raw, x.shape[0]]
'''
