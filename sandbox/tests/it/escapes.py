"""Tries to get out of the sandbox in every way that is known, and prints what became of each as a
JSON object: "refused" or what was got.

    escapes.py SECRET SIBLING WORKER

SECRET is a file outside with a secret, SIBLING a directory outside that its owner may write, WORKER
the process that waits for the command.
"""

import ctypes
import errno
import fcntl
import json
import mmap
import os
import platform
import resource
import signal
import socket
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
secret, sibling, worker = sys.argv[1], sys.argv[2], int(sys.argv[3])
X86 = platform.machine() == "x86_64"
REFUSED = {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.ENOENT, errno.EXDEV, errno.ESRCH, errno.EROFS}
tried = {}


def attempt(name, act, *refusals):
    """Runs an attempt; whatever it returns was got. `refusals` are further errors that refuse it."""
    try:
        got = act()
    except OSError as error:
        known = error.errno in REFUSED.union(refusals)
        tried[name] = "refused" if known else f"{errno.errorcode.get(error.errno)}: {error}"
    else:
        tried[name] = f"got {got!r}"


def refuse():
    raise PermissionError(errno.EPERM, "nothing to get")


def syscall(number, *args):
    ctypes.set_errno(0)
    got = libc.syscall(ctypes.c_long(number), *args)
    if got == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return got


def read(path):
    with open(path, "rb") as file:
        return file.read(64)


def write(path, text="x"):
    with open(path, "w") as file:
        file.write(text)
    return path


def through_link():
    os.symlink(os.path.join(sibling, "through"), "link")
    return write("link")


def memory_of(pid):
    with open(f"/proc/{pid}/mem", "rb") as file:
        return file.read(1)


def child(act):
    """Runs an attempt in a process of its own, whose death by the kernel is a refusal."""
    pid = os.fork()
    if pid == 0:
        try:
            act()
        except OSError as error:
            os._exit(0 if error.errno in REFUSED else 3)
        os._exit(1)
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSYS:
        raise PermissionError(errno.EPERM, "killed by seccomp")
    if os.WEXITSTATUS(status) == 0:
        raise PermissionError(errno.EPERM, "refused")
    return status


def machine_code(code):
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return ctypes.CFUNCTYPE(ctypes.c_int)(address)()


parent = os.getppid()
# Writing.
attempt("write beside", lambda: write(os.path.join(sibling, "beside")))
attempt("write a dotfile of root", lambda: write("/root/.profile"))
attempt("write /etc", lambda: write("/etc/callboard-was-here"))
attempt("write /usr", lambda: write("/usr/callboard-was-here"))
attempt("write core_pattern", lambda: write("/proc/sys/kernel/core_pattern", "|/bin/sh"))
attempt("write through a symbolic link", through_link)
attempt("take a hard link", lambda: os.link(secret, "hard"))
attempt("move a file in", lambda: os.rename(secret, "moved"))
attempt("move a file out", lambda: (write("own"), os.rename("own", os.path.join(sibling, "own"))))
attempt("make a device", lambda: os.mknod("device", 0o20666, os.makedev(1, 1)))
attempt("make a socket", lambda: os.mknod("socket", 0o140666))
attempt("truncate outside", lambda: os.truncate(secret, 0))
# Reading.
attempt("read a secret", lambda: read(secret))
attempt("list the sibling", lambda: os.listdir(sibling))
attempt("read /etc/shadow", lambda: read("/etc/shadow"))
attempt("list /root", lambda: os.listdir("/root"))
attempt("list /", lambda: os.listdir("/"))
attempt("list /home", lambda: os.listdir("/home"))
for pid in sorted({1, parent, worker}):
    who = {1: "process 1", parent: "the parent", worker: "the worker"}[pid]
    attempt(f"environment of {who}", lambda: read(f"/proc/{pid}/environ"))
    attempt(f"memory of {who}", lambda: memory_of(pid))
    attempt(f"files of {who}", lambda: os.listdir(f"/proc/{pid}/fd"))
    attempt(f"root of {who}", lambda: os.listdir(f"/proc/{pid}/root"))
    attempt(f"signal to {who}", lambda: os.kill(pid, 0))
    attempt(f"trace {who}", lambda: syscall(101 if X86 else 117, 16, pid, 0, 0))


def open_files():
    found = []
    for number in range(3, 1024):
        try:
            os.fstat(number)
            found.append(number)
        except OSError:
            pass
    if not found:
        raise PermissionError(errno.EPERM, "none")
    return found


attempt("inherited files", open_files)
# The network.
for family, kind, name in [
    (socket.AF_INET, socket.SOCK_STREAM, "TCP"), (socket.AF_INET, socket.SOCK_DGRAM, "UDP"),
    (socket.AF_INET6, socket.SOCK_STREAM, "TCP over IPv6"), (socket.AF_INET, socket.SOCK_RAW, "raw"),
    (socket.AF_NETLINK, socket.SOCK_RAW, "netlink"), (40, socket.SOCK_STREAM, "vsock"),
    (socket.AF_UNIX, socket.SOCK_STREAM, "unix"), (socket.AF_PACKET, socket.SOCK_RAW, "packet"),
    (38, socket.SOCK_SEQPACKET, "crypto"),
]:
    attempt(f"a socket: {name}", lambda: socket.socket(family, kind))
attempt("a pair of sockets for messages", lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
attempt("the interfaces of the machine", lambda: fcntl.ioctl(
    socket.socketpair()[0], 0x8912, struct.pack("iL", 0, 0)))
# Other processes.
attempt("limits of the parent", lambda: resource.prlimit(parent, resource.RLIMIT_CPU, (1, 1)))
attempt("the processors of the parent", lambda: os.sched_setaffinity(parent, {0}))
attempt("the scheduler of the parent", lambda: os.sched_setscheduler(parent, os.SCHED_IDLE, os.sched_param(0)))
attempt("the priority of the parent", lambda: os.setpriority(os.PRIO_PROCESS, parent, 19))
attempt("the priority of a user", lambda: os.setpriority(os.PRIO_USER, 0, 19))
attempt("a watch of the sibling", lambda: syscall(294 if X86 else 26, 0))
# The kernel.
NEW_USER, NEW_NET = 0x10000000, 0x40000000
attempt("unshare", lambda: syscall(272 if X86 else 97, NEW_USER))
attempt("clone with namespaces", lambda: child(lambda: syscall(56 if X86 else 220, NEW_USER | NEW_NET | 17, 0, 0, 0, 0)))
attempt("clone3", lambda: syscall(435, ctypes.byref((ctypes.c_uint64 * 11)(NEW_USER)), 88))
attempt("mount", lambda: syscall(165 if X86 else 40, b"none", b"/usr", b"tmpfs", 0, None))
attempt("chroot", lambda: os.chroot("."))
attempt("bpf", lambda: syscall(321 if X86 else 280, 0, None, 0))
attempt("keyctl", lambda: syscall(250 if X86 else 219, 0, -3, 1))
attempt("io_uring", lambda: syscall(425, 8, ctypes.byref((ctypes.c_uint8 * 120)())))
attempt("userfaultfd", lambda: syscall(323 if X86 else 282, 0))
attempt("perf_event_open", lambda: syscall(298 if X86 else 241, None, 0, -1, -1, 0))
attempt("open by handle", lambda: syscall(304 if X86 else 265, -100, None, 0))
attempt("shared memory", lambda: syscall(29 if X86 else 194, 1, 4096, 0o1666))
attempt("type into the terminal", lambda: syscall(16 if X86 else 29, 0, 0x5412, b"x"))
attempt("pidfd_getfd", lambda: syscall(438, 0, 0, 0))
# A user namespace without root has no user 0.
attempt("become root", lambda: os.setuid(0), errno.EINVAL)
attempt("new privileges", lambda: libc.prctl(39, 0, 0, 0, 0) == 1 and refuse() or "no_new_privs is off")
if X86:
    attempt("the x32 ABI", lambda: syscall(0x40000000 + 39))
    # mov eax, 20 (getpid); int 0x80; ret
    attempt("the i386 ABI", lambda: child(lambda: machine_code(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")))
print(json.dumps(tried))
