"""Names of CUDA, HIP and their libraries that tell what a C++ source is and what it calls."""

from __future__ import annotations

HIP_INCLUDES = ("hip/", "hipblas", "hipcub", "rocblas", "rocwmma", "miopen", "hiprtc", "ck/", "ck_tile/")
HIP_WORDS = ("hipLaunch", "hipStream", "hipMalloc", "hipMemcpy", "hipGet", "hipDevice", "hipError", "hipSuccess", "hipFunc",
             "hipblas", "hipEvent", "hipOccupancy", "hipModule", "rocblas_", "miopen", "__builtin_amdgcn", "rocwmma")  # fmt: skip
CUDA_INCLUDES = ("cuda", "c10/cuda", "ATen/cuda", "device_launch_parameters")
CUDA_WORDS = ("cudaStream", "cudaMalloc", "cudaMemcpy", "cudaMemset", "cudaGet", "cudaDevice", "cudaError", "cudaSuccess",
              "cudaFunc", "cudaLaunch", "cudaEvent", "cudaOccupancy", "cuLaunch", "cublas", "cudnn", "CUmodule",
              "getCurrentCUDAStream", "CUDAGuard", "CUDAStream")  # fmt: skip
# What no AMD compiler takes, translated or not.
NVIDIA_INCLUDES = (
    "mma.h",
    "cuda/pipeline",
    "cuda/barrier",
    "cuda/std",
    "cuda/ptx",
    "cudaTypedefs",
    "cutlass/",
    "cute/",
    "kittens",
)
NVIDIA_WORDS = {"nvcuda", "CUtensorMap", "cuTensorMapEncodeTiled", "__cvta_generic_to_shared", "cutlass", "cute", "kittens"}
TEMPLATE_LIBRARIES: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "cutlass": (("cutlass/", "cute/"), {"cutlass", "cute"}),
    "cute": (("cute/",), {"cute"}),
    "thunderkittens": (("kittens", "prototype.cuh", "tk/", "pyutils/"), {"kittens"}),
}
LAUNCH_CALLS = {
    "hipLaunchKernelGGL", "hipLaunchKernel", "hipLaunchCooperativeKernel", "hipExtLaunchKernelGGL", "hipExtLaunchKernel",
    "hipModuleLaunchKernel", "hipExtModuleLaunchKernel", "hipLaunchKernelExC", "cudaLaunchKernel", "cudaLaunchKernelEx",
    "cudaLaunchKernelExC", "cudaLaunchCooperativeKernel", "cudaGraphAddKernelNode", "hipGraphAddKernelNode", "cuLaunchKernel",
    "cuLaunchKernelEx", "cuLaunchCooperativeKernel", "launch_kernel_on_cluster", "kernel_launch", "ClusterLauncher",
    "bind_kernel", "bind_function", "BIND_KERNEL", "BIND_FUNCTION",
}  # fmt: skip
KERNEL_TEMPLATES = {"cutlass", "ck", "ck_tile"}
DEVICE_WORDS = {"__device__", "CUTLASS_DEVICE", "CUTLASS_HOST_DEVICE", "CUTE_DEVICE", "CUTE_HOST_DEVICE", "CK_TILE_DEVICE"}
LAUNCHING_LIBRARIES = {
    "cutlass", "ck", "ck_tile",
    "thrust", "cub", "hipcub", "rocprim", "gpu_kernel", "gpu_kernel_with_scalars", "opmath_gpu_kernel_with_scalars",
    "gpu_reduce_kernel", "CUDA_tensor_apply2", "CUDA_tensor_apply3", "DeviceFor",
}  # fmt: skip
LIBRARY_NAMESPACES = {
    "thrust",
    "cub",
    "hipcub",
    "rocprim",
    "cutlass",
    "cublasLt",
    "cudnn_frontend",
    "ck",
    "ck_tile",
    "faiss",
    "raft",
}
CUTLASS_OPERATIONS = tuple(
    f"cutlass::{part}::" for part in ("gemm", "conv", "reduction", "epilogue", "device", "kernel", "library")
)
_LIBRARY_PREFIXES = {
    "cublas": "cuBLAS", "cudnn": "cuDNN", "cufft": "cuFFT", "cusparse": "cuSPARSE", "cusolver": "cuSOLVER", "cutensor":
    "cuTENSOR", "curand": "cuRAND", "nccl": "NCCL", "rocblas_": "rocBLAS", "hipblas": "hipBLAS", "miopen": "MIOpen", "hipfft":
    "hipFFT", "rocfft_": "rocFFT", "hipsparse": "hipSPARSE", "rocsparse_": "rocSPARSE", "hiprand": "hipRAND", "hipdnn":
    "hipDNN", "mkl_": "MKL", "dnnl_": "oneDNN",
}  # fmt: skip
_NO_WORK = ("Create", "Destroy", "SetStream", "SetMathMode", "GetStream", "GetErrorString", "_init")

# Names of namespace at and torch that make or describe tensors and do not compute.
NOT_COMPUTE = {
    "empty", "empty_like", "empty_strided", "zeros", "zeros_like", "ones", "ones_like", "full", "full_like", "tensor",
    "scalar_tensor", "from_blob", "arange", "dtype", "device", "options", "elementsize", "isfloatingtype", "get_num_threads",
    "set_num_threads", "globalcontext", "manual_seed", "parallel_for", "native", "cuda", "hip", "detail", "nn", "autograd",
    "indexing", "jit", "kwargs", "functional", "library", "impl", "ops", "headeronly", "stable", "string",
}  # fmt: skip
TENSOR_METHODS = {
    "matmul", "mm", "bmm", "addmm", "addmm_", "baddbmm", "mv", "addmv", "linear", "conv2d", "einsum", "tensordot", "outer",
    "addbmm", "softmax", "log_softmax", "logsumexp", "relu", "relu_", "gelu", "silu", "sigmoid", "sigmoid_", "tanh", "tanh_",
    "exp", "exp_", "sqrt", "sqrt_", "rsqrt", "rsqrt_", "pow", "pow_", "sin", "cos", "erf", "sum", "mean", "prod", "amax",
    "amin", "argmax", "argmin", "norm", "var", "std", "cumsum", "cumprod", "logcumsumexp", "topk", "argsort", "masked_fill",
    "masked_fill_", "addcmul", "addcmul_", "addcdiv", "addcdiv_", "clamp", "clamp_", "clamp_min", "clamp_max", "mul_", "div_",
    "sub_", "lerp", "lerp_", "scatter_add", "scatter_add_", "scatter_reduce", "index_add", "index_add_", "gather",
    "index_select", "tril", "triu", "softplus", "hardtanh",
}  # fmt: skip


def library_of(function: str) -> str | None:
    """The library that a C function belongs to, where calling it does work; None for handles and other functions."""
    for prefix, library in _LIBRARY_PREFIXES.items():
        if function.startswith(prefix) and function != prefix and not any(word in function for word in _NO_WORK):
            return library
    return None
