"""How often a client may create links."""

from collections import deque

PER_MINUTE = 15


class Throttle:
    """Remembers when each client created links in the past minute."""

    def __init__(self):
        self.times = {}

    def admits(self, client, now):
        for other in [name for name, times in self.times.items() if times[-1] <= now - 60]:
            del self.times[other]
        times = self.times.setdefault(client, deque())
        while times and times[0] <= now - 60:
            times.popleft()
        if len(times) >= PER_MINUTE:
            return False
        times.append(now)
        return True
