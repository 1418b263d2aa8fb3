"""refuse_tiles.py PROGRAM ...: runs a program to which Linux refuses AMX's tile registers."""
import ctypes
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
ARCH_PRCTL, ARCH_REQ_XCOMP_PERM = 158, 0x1023
ALLOW, REFUSE = 0x7fff0000, 0x00050000 | 1  # EPERM
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06

# The number of the system call, then the lower half of its first argument.
FILTER = [(LOAD, 0, 0, 0), (EQUAL, 0, 3, ARCH_PRCTL), (LOAD, 0, 0, 16),
          (EQUAL, 0, 1, ARCH_REQ_XCOMP_PERM), (RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW)]


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


code = b"".join(struct.pack("HBBI", *instruction) for instruction in FILTER)
libc = ctypes.CDLL(None, use_errno=True)
program = Program(len(FILTER), code)
if (libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or
        libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)):
    sys.exit(f"no filter of system calls: {os.strerror(ctypes.get_errno())}")
os.execvp(sys.argv[1], sys.argv[1:])
