"""Start the service: `python -m hop`."""

import os
import signal
import sys
from pathlib import Path

from hop.routes import Server
from hop.service import Service
from hop.store import Store


def main() -> None:
    store = Store(Path(os.environ.get("DATA_FILE", "links.data")))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        Server(int(os.environ.get("PORT", "8087")), Service(store)).serve_forever()
    finally:
        store.save()


if __name__ == "__main__":
    main()
