"""Softmax over each row as a Triton kernel: one program for a row, which stays on the chip between the three passes."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def softmax_row(out, x, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    start = tl.program_id(0) * columns
    row = tl.load(x + start + offsets, mask=offsets < columns, other=-float("inf"))
    exponentials = tl.exp(row - tl.max(row, axis=0))
    tl.store(out + start + offsets, exponentials / tl.sum(exponentials, axis=0), mask=offsets < columns)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        rows, columns = x.shape
        softmax_row[(rows,)](out, x, columns, BLOCK=triton.next_power_of_2(columns))
        return out
