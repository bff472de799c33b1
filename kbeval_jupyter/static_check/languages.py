"""The languages that can be named, and the Python names by which each is known."""

from __future__ import annotations

from typing import Literal, get_args

Backend = Literal["cuda", "hip", "triton", "cute", "cutlass", "tilelang", "thunderkittens"]
BACKENDS: tuple[str, ...] = get_args(Backend)
TITLES = {
    "cuda": "CUDA", "hip": "HIP", "triton": "Triton", "cute": "CuTe", "cutlass": "CUTLASS", "tilelang": "TileLang",
    "thunderkittens": "ThunderKittens", "warp": "Warp", "taichi": "Taichi", "cutile": "cuTile", "pallas": "Pallas",
}  # fmt: skip

# Decorators, or functions called on a function, that make device code of it.
KERNEL_MAKERS: dict[str, frozenset[str]] = {
    "triton.jit": frozenset({"triton"}),
    "triton.runtime.jit": frozenset({"triton"}),
    "triton.runtime.jit.jit": frozenset({"triton"}),
    "triton.runtime.JITFunction": frozenset({"triton"}),
    "triton.runtime.jit.JITFunction": frozenset({"triton"}),
    "triton.experimental.gluon.jit": frozenset({"triton"}),
    "triton.experimental.gluon.gluon.jit": frozenset({"triton"}),
    "helion.kernel": frozenset({"triton"}),
    "helion.jit": frozenset({"triton"}),
    "cutlass.cute.jit": frozenset({"cute", "cutlass"}),
    "cutlass.cute.kernel": frozenset({"cute", "cutlass"}),
    "cutlass.jit": frozenset({"cute", "cutlass"}),
    "tilelang.jit": frozenset({"tilelang"}),
    "tilelang.lazy_jit": frozenset({"tilelang"}),
    "tilelang.compile": frozenset({"tilelang"}),
    "tilelang.language.prim_func": frozenset({"tilelang"}),
    "numba.cuda.jit": frozenset({"cuda"}),
    "cupyx.jit.rawkernel": frozenset({"cuda", "hip"}),
    "cupy.fuse": frozenset({"cuda", "hip"}),
    "warp.kernel": frozenset({"warp"}),
    "taichi.kernel": frozenset({"taichi"}),
    "cuda.tile.kernel": frozenset({"cutile"}),
    "jax.experimental.pallas.pallas_call": frozenset({"pallas"}),
}

# Functions that compile C++: positions and keywords of the arguments that hold sources. "runtime": kernels are launched by name.
SOURCE_ARGUMENTS: dict[str, tuple[tuple[int, ...], tuple[str, ...], Literal["extension", "runtime"]]] = {
    "torch.utils.cpp_extension.load_inline": ((1, 2, 3), ("cpp_sources", "cuda_sources", "sycl_sources"), "extension"),
    "torch.utils.cpp_extension.load": ((1,), ("sources",), "extension"),
    "torch.cuda._compile_kernel": ((0,), ("kernel_source", "header_code"), "runtime"),
    "cupy.RawKernel": ((0,), ("code",), "runtime"),
    "cupy.RawModule": ((), ("code", "path"), "runtime"),
    "cupy.ElementwiseKernel": ((2,), ("operation",), "runtime"),
    "cupy.ReductionKernel": ((2, 3, 4), ("map_expr", "reduce_expr"), "runtime"),
    "torch.cuda.jiterator._create_jit_fn": ((0,), ("code_string",), "runtime"),
    "torch.cuda.jiterator._create_multi_output_jit_fn": ((0,), ("code_string",), "runtime"),
    "pycuda.compiler.SourceModule": ((0,), ("source",), "runtime"),
    "nvrtcCreateProgram": ((0, 1), ("src",), "runtime"),
    "hiprtcCreateProgram": ((0, 1), ("src",), "runtime"),
    "cuda.core.experimental.Program": ((0,), ("code",), "runtime"),
    "cuda.core.Program": ((0,), ("code",), "runtime"),
}
# Their text is what a kernel does to one element, not a kernel.
SNIPPETS = {
    "cupy.ElementwiseKernel", "cupy.ReductionKernel",
    "torch.cuda.jiterator._create_jit_fn", "torch.cuda.jiterator._create_multi_output_jit_fn",
}  # fmt: skip

# Packages that hold kernels of others; using them is a library call.
LIBRARIES = {
    "flash_attn", "flash_attn_interface", "flashinfer", "xformers", "apex", "transformer_engine", "bitsandbytes", "deep_gemm",
    "vllm", "sgl_kernel", "sglang", "liger_kernel", "fla", "mamba_ssm", "causal_conv1d", "quack", "torchao", "aiter",
    "cuequivariance", "cupy", "nvmath", "cudnn", "cutlass_library", "cutlass_cppgen", "thunderkittens", "triton_kernels",
    "gemlite", "marlin", "jax", "tensorflow", "opt_einsum", "torchvision", "torchaudio", "transformers", "torch_scatter",
    "torch_sparse", "natten", "kernels", "hipblaslt", "unsloth", "tensorrt_llm", "torch_tensorrt", "onnxruntime",
}  # fmt: skip
# Packages that compute nothing on their own account.
TOOLS = {
    "numpy", "scipy", "einops", "cuda", "numba", "torch", "triton", "cutlass", "tilelang", "tvm", "helion", "cupyx", "pycuda",
    "ninja", "pybind11", "setuptools", "packaging", "typing_extensions", "tqdm", "psutil", "pynvml", "filelock", "warp",
    "taichi", "jinja2", "IPython", "hip", "attr", "absl", "click",
}  # fmt: skip

# Functions of torch that make, describe or move tensors; the rest computes.
NOT_COMPUTE = {
    "empty", "empty_like", "empty_strided", "empty_permuted", "zeros", "zeros_like", "ones", "ones_like", "full", "full_like",
    "tensor", "as_tensor", "asarray", "from_numpy", "frombuffer", "from_dlpack", "arange", "linspace", "device", "dtype",
    "Size", "Generator", "no_grad", "inference_mode", "enable_grad", "autocast", "manual_seed", "seed", "initial_seed",
    "typename", "iinfo", "finfo", "result_type", "promote_types", "can_cast", "broadcast_shapes", "broadcast_tensors",
    "numel", "reshape", "as_strided", "view_as_real", "view_as_complex", "use_deterministic_algorithms", "load", "save",
    "stack_trace", "Tensor", "Event", "Stream", "squeeze", "unsqueeze", "permute", "transpose", "t", "flatten", "ravel",
    "unbind", "split", "chunk", "narrow", "select", "movedim", "swapaxes", "unflatten", "detach", "FloatTensor", "HalfTensor",
    "IntTensor", "LongTensor", "BoolTensor", "compile", "cond", "vmap",
}  # fmt: skip
COMPUTING_NAMESPACES = (
    "torch.nn.functional.", "torch.linalg.", "torch.fft.", "torch.special.", "torch.ops.aten.", "torch._C._nn.",
    "torch.ops.prims.", "torch.ops.quantized.", "torch.ops.higher_order.",
    "torch._C._VariableFunctions.", "torch.sparse.",
)  # fmt: skip
INERT_LAYERS = {"Parameter", "ParameterList", "ParameterDict", "ModuleList", "ModuleDict", "Identity", "Module", "Buffer"}


def title(languages: frozenset[str] | set[str]) -> str:
    """The languages for people: ``CUDA or HIP``."""
    return " or ".join(TITLES.get(language, language) for language in sorted(languages))
