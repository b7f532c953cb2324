"""Start the service: `python -m payhook`."""

import logging
import os
import signal

from payhook.server import create_server


def main() -> None:
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    server = create_server(
        "127.0.0.1",
        int(os.environ.get("PORT", "8087")),
        data_file=os.environ.get("DATA_FILE", "payhook.json"),
        acquirer_url=os.environ.get("ACQUIRER_URL", "http://127.0.0.1:8099"),
    )
    logging.getLogger("payhook").info("listening on %s:%d", *server.server_address)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


if __name__ == "__main__":
    main()
