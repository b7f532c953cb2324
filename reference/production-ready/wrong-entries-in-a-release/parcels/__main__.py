"""Start the service: `python -m parcels`."""

import os
import signal
import sys
import threading

from parcels.server import create_server

HOST = "127.0.0.1"
DEFAULT_PORT = 8080


def main() -> None:
    server = create_server(HOST, int(os.environ.get("PORT", DEFAULT_PORT)))
    signal.signal(
        signal.SIGTERM,
        lambda *_: threading.Thread(target=server.shutdown).start(),
    )
    print("parcels listening on %s:%d" % server.server_address, file=sys.stderr)
    server.serve_forever()
    server.server_close()


if __name__ == "__main__":
    main()
