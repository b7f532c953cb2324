"""Start the service: `python -m parcels`."""

import os
import signal
import sys

from parcels.server import create_server

HOST = "127.0.0.1"
PORT = int(os.environ.get("PORT", "8080"))


def main() -> None:
    server = create_server(HOST, PORT)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print(f"parcels listening on {HOST}:{PORT}")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


if __name__ == "__main__":
    main()
