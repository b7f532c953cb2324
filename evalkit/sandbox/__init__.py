"""The only argv builder of isolation: what a process in the sandbox can see and do.

Level `bwrap` starts from an empty root and binds what is listed here; level
`none` is no isolation at all, and needs consent.

    view       what stands in the root: data
    limits     what a process may take: data
    seccomp    the system calls it may not make
    identity   the user it runs as
    box        the argv
    probe      whether it works here, found by running it
"""

from evalkit.sandbox.box import NONE, PYTHON_OPTIONS, Box, Launch, Place
from evalkit.sandbox.probe import LEVELS, open_box
from evalkit.sandbox.view import DRIVER, Mount, prefixes, python

__all__ = [
    "DRIVER",
    "LEVELS",
    "NONE",
    "PYTHON_OPTIONS",
    "Box",
    "Launch",
    "Mount",
    "Place",
    "open_box",
    "prefixes",
    "python",
]
