"""Start the service: `python -m hop`."""

import os
from pathlib import Path

from hop.routes import Server
from hop.service import Service
from hop.store import Store


def main() -> None:
    store = Store(Path(os.environ.get("DATA_FILE", "links.data")))
    Server(int(os.environ.get("PORT", "8087")), Service(store)).serve_forever()


if __name__ == "__main__":
    main()
