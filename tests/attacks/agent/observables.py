"""What a program can see of where it is; delivered as `greet.py`, it tells the grader."""

import getpass
import json
import os
import resource
import socket
import sys
import time

LIMITS = ("CORE", "NPROC", "NOFILE", "FSIZE", "AS", "CPU", "STACK", "MEMLOCK")


def observe():
    with open("/proc/self/status") as lines:
        status = {n: v.strip() for n, _, v in (line.partition(":") for line in lines)}
    with open("/proc/self/mountinfo") as lines:
        mounts = sorted({line.split()[4] for line in lines})
    return {
        "user": getpass.getuser(),
        "ids": [len({os.getuid(), os.geteuid()}), os.getuid() > 0, os.getgroups()],
        "host": socket.gethostname(),
        "localhost": socket.gethostbyname("localhost"),
        "home": os.environ.get("HOME"),
        "folder": os.path.dirname(os.path.abspath(__file__)),
        "working folder": os.getcwd(),
        "environment": sorted(os.environ),
        "search path": os.environ.get("PATH"),
        "language": os.environ.get("LANG"),
        "temporary": os.environ.get("TMPDIR"),
        "descriptors": sorted(map(int, os.listdir("/proc/self/fd")))[:-1],
        "terminal": os.isatty(0),
        "python": [sys.executable, sys.version],
        "flags": list(sys.flags),
        "root": sorted(os.listdir("/")),
        "etc": sorted(os.listdir("/etc")),
        "devices": sorted(os.listdir("/dev")),
        "mounts": mounts,
        "capabilities": [status[name] for name in ("CapEff", "CapBnd", "CapInh")],
        "no new privileges": status["NoNewPrivs"],
        "seccomp": status["Seccomp"],
        "limits": {n: resource.getrlimit(getattr(resource, f"RLIMIT_{n}")) for n in LIMITS},
        "mask": [os.umask(0o022)],
        "first process": read("/proc/1/comm"),
        "processes": sum(name.isdigit() for name in os.listdir("/proc")),
        "interfaces": [name for _, name in socket.if_nameindex()],
        "version control": os.path.exists(".git"),
        "writable": [p for p in ("/", "/tmp", "/workspace", ".") if os.access(p, os.W_OK)],
        "zone": time.tzname,
        "year": time.localtime().tm_year,
    }


def read(path):
    try:
        with open(path) as opened:
            return opened.read().strip()
    except OSError as error:
        return error.strerror


def greet(name):
    return json.dumps(observe())
