"""Ten KernelBench-style problems, each a module that defines Model, get_inputs, get_init_inputs, and BROKEN.

``BROKEN`` is the source of a ModelNew that is wrong in a way real kernels are wrong (a tail not handled, a wrong axis, …).
"""
