"""Layer "seccomp": system calls that reach other processes, the network or the kernel's rarer corners are refused.

Numbers: the kernel's arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h (aarch64).
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from typing import Dict, List, Sequence, Tuple

from .layer import LayerError, forbid_new_privileges, last_error, prctl

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

_REFUSED: Dict[str, Tuple[int, int]] = {  # name: x86_64, aarch64
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424), "process_madvise": (440, 440), "process_mrelease": (448, 448),
    "perf_event_open": (298, 241), "bpf": (321, 280), "userfaultfd": (323, 282),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "unshare": (272, 97), "setns": (308, 268), "chroot": (161, 51), "pivot_root": (155, 41),
    "mount": (165, 40), "umount2": (166, 39), "move_mount": (429, 429), "open_tree": (428, 428), "mount_setattr": (442, 442),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "open_by_handle_at": (304, 265),
}  # fmt: skip
# The first argument is a process: none (oneself) or this worker's own.
_OWN_PROCESS_ONLY = {
    "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119), "sched_setparam": (142, 118), "sched_setattr": (314, 274),
    "prlimit64": (302, 261), "migrate_pages": (256, 238), "move_pages": (279, 239),
}  # fmt: skip
# Signals, where Landlock cannot keep them inside the worker's family. Without it a compiler cannot end its own children.
_SIGNALS = {
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
}  # fmt: skip
_SETPRIORITY, _IOPRIO_SET = (141, 140), (251, 30)
_SOCKET, _SOCKETPAIR, _CONNECT = (41, 198), (53, 199), (42, 203)
_CLONE, _CLONE3 = (56, 220), (435, 435)
_PRCTL, _FCNTL = (157, 167), (72, 25)
_X32_BIT = 0x40000000

_PR_SET_CHILD_SUBREAPER = 36
_F_SETOWN, _F_SETOWN_EX = 8, 15
_AF_UNIX, _SOCK_DGRAM, _SOCK_TYPE_MASK = 1, 2, 0xF
_WHO_USER = {"setpriority": 2, "ioprio_set": 3}
# Every CLONE_NEW… of clone(2), and CLONE_PARENT, which would make a sibling instead of a child.
_CLONE_FLAGS = 0x7E028000

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_BITS, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _REFUSE, _MISSING, _KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000  # allow; EPERM; ENOSYS; end the process
_NUMBER, _ARCHITECTURE = 0, 4  # offsets in struct seccomp_data

Instruction = Tuple[int, int, int, int]  # code, jump if true, jump if false, operand


def apply(signals_scoped: bool, allow_connect: bool) -> None:
    """Install the filter, for ever. ``signals_scoped``: Landlock holds signals already. ``allow_connect``: for CUDA's MPS."""
    machine = os.uname().machine
    if machine not in _ARCHITECTURES or sys.maxsize < 1 << 32:
        raise LayerError(f"no system call table for {machine}")
    column, audit_architecture = _ARCHITECTURES[machine]
    program = build(column, audit_architecture, os.getpid(), signals_scoped, allow_connect)
    code = b"".join(struct.pack("<HBBI", *instruction) for instruction in program)
    filter_bytes = ctypes.create_string_buffer(code, len(code))
    header = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(program), ctypes.addressof(filter_bytes)))
    forbid_new_privileges()
    if prctl(22, 2, ctypes.addressof(header)) != 0:  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
        raise LayerError(f"PR_SET_SECCOMP: {last_error()}")


def build(column: int, audit_architecture: int, own_pid: int, signals_scoped: bool, allow_connect: bool) -> List[Instruction]:
    """The filter as instructions of classic BPF."""
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, audit_architecture),
        (_RETURN, 0, 0, _KILL),  # system calls of another architecture have other numbers
        (_LOAD, 0, 0, _NUMBER),
    ]
    if column == 0:
        program += [(_JUMP_AT_LEAST, 0, 1, _X32_BIT), (_RETURN, 0, 0, _REFUSE)]

    def rule(numbers: Tuple[int, int], body: Sequence[Instruction]) -> None:
        program.append((_JUMP_EQUAL, 0, len(body), numbers[column]))
        program.extend(body)

    refuse = [(_RETURN, 0, 0, _REFUSE)]
    for numbers in _REFUSED.values():
        rule(numbers, refuse)
    if not allow_connect:
        rule(_CONNECT, refuse)
    rule(_CLONE3, [(_RETURN, 0, 0, _MISSING)])  # its flags lie in memory; the C library falls back to clone
    rule(_CLONE, [_argument(0), (_JUMP_BITS, 0, 1, _CLONE_FLAGS), *refuse, _allow()])
    for numbers in _OWN_PROCESS_ONLY.values():
        rule(numbers, _one_of(0, (0, own_pid)))
    rule(_PRCTL, _none_of(0, (_PR_SET_CHILD_SUBREAPER,)))
    for numbers, user in ((_SETPRIORITY, _WHO_USER["setpriority"]), (_IOPRIO_SET, _WHO_USER["ioprio_set"])):
        # Of oneself or one's group, never of all processes of the user.
        rule(numbers, [_argument(0), (_JUMP_EQUAL, 0, 1, user), *refuse, *_one_of(1, (0,))])
    # Datagrams can be sent to any socket without connecting first.
    unconnected = [_argument(1), (_AND, 0, 0, _SOCK_TYPE_MASK), (_JUMP_EQUAL, 0, 1, _SOCK_DGRAM), *refuse]
    rule(_SOCKET, [_argument(0), (_JUMP_EQUAL, 1, 0, _AF_UNIX), *refuse, *unconnected, _allow()])
    rule(_SOCKETPAIR, [*unconnected, _allow()])
    if not signals_scoped:
        for numbers in _SIGNALS.values():
            rule(numbers, _one_of(0, (own_pid,)))
        rule(_FCNTL, _none_of(1, (_F_SETOWN, _F_SETOWN_EX)))  # SIGIO of any number to any process
    program.append(_allow())
    return program


def _argument(index: int) -> Instruction:
    return (_LOAD, 0, 0, 16 + 8 * index)  # the lower half: all arguments that are looked at are ints


def _allow() -> Instruction:
    return (_RETURN, 0, 0, _ALLOW)


def _one_of(index: int, values: Sequence[int]) -> List[Instruction]:
    tests = [(_JUMP_EQUAL, len(values) - place, 0, value) for place, value in enumerate(values)]
    return [_argument(index), *tests, (_RETURN, 0, 0, _REFUSE), _allow()]


def _none_of(index: int, values: Sequence[int]) -> List[Instruction]:
    tests = [(_JUMP_EQUAL, len(values) - place, 0, value) for place, value in enumerate(values)]
    return [_argument(index), *tests, _allow(), (_RETURN, 0, 0, _REFUSE)]
