"""The system calls that nothing in the sandbox may make, as a BPF program.

A list of what is denied, not of what is allowed: delivered programs are of any
kind. Denied is what reads or stops other processes, makes namespaces or mounts,
reaches past the network namespace, or only widens the kernel's attack surface.
Numbers are those of the kernel's own tables (asm/unistd_64.h of x86_64 and
asm-generic/unistd.h, Linux 6.1 headers).
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator

DENIED: dict[str, tuple[int | None, int | None]] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "syslog": (103, 116),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "lookup_dcookie": (212, 18),
    "fanotify_init": (300, 262),
    "vhangup": (153, 58),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
}
"""Answered with EPERM; numbers on x86_64 and aarch64, None where there is none."""
ABSENT: dict[str, tuple[int, int]] = {
    "clone3": (435, 435),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
}
"""Answered with ENOSYS, upon which libraries take the older way. The flags of
clone3 lie in memory, where no filter can read them; the last six make what belongs
to no process, so that nothing would bound it, and no sweep between checks end it."""
CLONE, SOCKET, IOCTL = (56, 220), (41, 198), (16, 29)
NEW_NAMESPACE = 0x7E02_0000
"""The CLONE_NEW* flags of clone."""
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}
"""Sockets that may be made. AF_VSOCK, which reaches the host of a virtual machine
through any network namespace, is not among them."""
TERMINAL_INPUT = {"TIOCSTI": 0x5412, "TIOCLINUX": 0x541C}
"""What types into the terminal of whoever started us."""
MACHINES = {"x86_64": (0, 0xC000_003E), "aarch64": (1, 0xC000_00B7)}
"""Column of the tables above, and the architecture's AUDIT_ARCH number."""

X32 = 0x4000_0000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF_0000, 0x0005_0000, 0x8000_0000
_NUMBER, _ARCH, _ARGUMENT_0, _ARGUMENT_1 = 0, 4, 16, 24


def program(machine: str) -> bytes:
    """The filter for a machine, as `bwrap --seccomp` reads it.

    Args:
        machine: As `os.uname().machine` says it.

    Raises:
        KeyError: The system calls of that machine are not known here.
    """
    column, arch = MACHINES[machine]
    return b"".join(_instructions(column, arch))


def _instructions(column: int, arch: int) -> Iterator[bytes]:
    yield _op(_LOAD, _ARCH)
    yield _op(_EQUAL, arch, then=1)
    yield _op(_RETURN, _KILL)
    yield _op(_LOAD, _NUMBER)
    yield _op(_AT_LEAST, X32, otherwise=1)
    yield _op(_RETURN, _ERRNO | errno.ENOSYS)
    for table, number in ((DENIED, errno.EPERM), (ABSENT, errno.ENOSYS)):
        for numbers in table.values():
            denied = numbers[column]
            if denied is not None:
                yield _op(_EQUAL, denied, otherwise=1)
                yield _op(_RETURN, _ERRNO | number)
    yield from _clone(column)
    yield from _ioctl(column)
    yield from _socket(column)
    yield _op(_RETURN, _ALLOW)


def _clone(column: int) -> Iterator[bytes]:
    yield _op(_EQUAL, CLONE[column], otherwise=4)
    yield _op(_LOAD, _ARGUMENT_0)
    yield _op(_ANY_BIT, NEW_NAMESPACE, otherwise=1)
    yield _op(_RETURN, _ERRNO | errno.EPERM)
    yield _op(_RETURN, _ALLOW)


def _ioctl(column: int) -> Iterator[bytes]:
    n_kinds = len(TERMINAL_INPUT)
    yield _op(_EQUAL, IOCTL[column], otherwise=3 + n_kinds)
    yield _op(_LOAD, _ARGUMENT_1)
    for n, kind in enumerate(TERMINAL_INPUT.values(), 1):
        yield _op(_EQUAL, kind, then=1 + n_kinds - n)
    yield _op(_RETURN, _ALLOW)
    yield _op(_RETURN, _ERRNO | errno.EPERM)


def _socket(column: int) -> Iterator[bytes]:
    n_families = len(FAMILIES)
    yield _op(_EQUAL, SOCKET[column], otherwise=2 + n_families)
    yield _op(_LOAD, _ARGUMENT_0)
    for n, family in enumerate(FAMILIES.values(), 1):
        yield _op(_EQUAL, family, then=1 + n_families - n)
    yield _op(_RETURN, _ERRNO | errno.EAFNOSUPPORT)


def _op(code: int, k: int, *, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("<HBBI", code, then, otherwise, k)
