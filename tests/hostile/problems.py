"""The problems of the hostile and the honest implementations, by name."""

HEAD = "import torch\nfrom torch import nn\n"


def problem(forward: str, inputs: str, parameters: str = "", init: str = "") -> str:
    """A reference of the kernelbench format. ``forward``: "arguments: body"; ``init``: the body of its constructor."""
    arguments, _, body = forward.partition(":")
    made = f"    def __init__(self, width):\n        super().__init__()\n        {init}\n" if init else ""
    return (
        f"{HEAD}class Model(nn.Module):\n{made}    def forward(self, {arguments}):\n        {body.strip()}\n"
        f"def get_inputs():\n    return [{inputs}]\ndef get_init_inputs():\n    return [{parameters}]\n"
    )


PROBLEMS = {
    "matmul": problem("a, b: return a @ b", "torch.randn(160, 160), torch.randn(160, 160)"),
    "softmax": problem("x: return x.softmax(-1)", "torch.randn(64, 2000)"),
    "linear": problem("x: return self.f(x)", "torch.randn(32, 64)", "64", "self.f = nn.Linear(width, 48)"),
    "relu": problem("x: return x.relu()", "torch.randn(64, 64)"),
    "relu_in_place": problem("x: return x.relu_()", "torch.randn(64, 64)"),
    "mean_expanded": problem(
        "x: return x.mean(1, keepdim=True).expand(64, 100)", "torch.randn(64, 100) + torch.arange(64)[:, None]"
    ),
    "flat": problem("x: return x.view(-1)", "torch.randn(64, 64)"),
    "identity": problem("x: return x", "torch.randn(64, 64)"),
    "twice": problem("x: return x * 2, x + 1", "torch.randn(64, 64)"),
    "named": problem("x: return {'sum': x.sum(), 'top': x.argmax(1)}", "torch.rand(64, 64)"),
    "mask": problem("x: return x > 0", "torch.randn(64, 64)"),
    "log": problem("x: return x.log()", "torch.randn(64, 64)"),
    "masked": problem("x: return x.masked_fill(x < 0, float('-inf'))", "torch.randn(64, 64)"),
    "dropout": problem("x: return nn.functional.dropout(x, 0.5, True)", "torch.randn(64, 64)"),
    "half": problem("a, b: return a @ b", "torch.randn(64, 64).half(), torch.randn(64, 64).half()"),
    "bfloat16": problem("a, b: return a @ b", "torch.randn(64, 64).bfloat16(), torch.randn(64, 64).bfloat16()"),
    "complex": problem("a, b: return a @ b", ", ".join(["torch.randn(32, 32, dtype=torch.complex64)"] * 2)),
    "gather": problem("x, i: return x[i]", "torch.randn(500, 16), torch.randint(500, (64,))"),
    "scale": problem("x, s: return x * s", "torch.randn(64, 64), 2.5"),
    "list": problem("xs: return sum(xs)", "[torch.randn(32, 32) for _ in range(3)]"),
    "groups": (
        f"{HEAD}class Model(nn.Module):\n    def forward(self, x):\n        return x * 3\n"
        "def get_input_groups():\n    return [[torch.randn(32, 32)], [torch.randn(48, 48)]]\n"
        "def get_init_inputs():\n    return []\n"
    ),
}
