"""Start the service: `python -m parcels`."""

import os
import signal
import sys
import threading
import time

from parcels.server import create_server

HOST = "127.0.0.1"
DEFAULT_PORT = 8080
DRAIN_S = 1.0


def main() -> None:
    server = create_server(HOST, int(os.environ.get("PORT", DEFAULT_PORT)))
    signal.signal(
        signal.SIGTERM,
        lambda *_: threading.Thread(target=server.shutdown).start(),
    )
    print("parcels listening on %s:%d" % server.server_address, file=sys.stderr)
    server.serve_forever()
    threading.Thread(target=leave_in_time, daemon=True).start()
    server.server_close()


def leave_in_time() -> None:
    """Give up on requests that do not end."""
    time.sleep(DRAIN_S)
    os._exit(0)


if __name__ == "__main__":
    main()
