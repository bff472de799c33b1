import torch


def custom_kernel(inputs: list[torch.Tensor]) -> torch.Tensor:
    return torch.mm(*inputs).clamp_(min=0)
