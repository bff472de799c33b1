"""Which of the user's variables reach the server and its workers. Nothing else does: the environment may hold tokens."""

from __future__ import annotations

INHERITED = (
    "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME", "PYTHONPATH", "CONDA_PREFIX",
    # compilers and libraries
    "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "CC", "CXX",
    "CUDA_HOME", "CUDA_PATH", "ROCM_HOME", "ROCM_PATH", "HIP_PATH", "HIP_PLATFORM", "TRITON_PTXAS_PATH", "TRITON_LIBCUDA_PATH",
    "TORCH_CUDA_ARCH_LIST", "PYTORCH_ROCM_ARCH",
    # devices
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_MODULE_LOADING", "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY",
    "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES",
    "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION",
    # threads, output, and what the server was started with for its workers' sake
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_WAIT_POLICY", "PYTHONUNBUFFERED", "PYTORCH_NVML_BASED_CUDA_CHECK",
)  # fmt: skip
