"""Start the service: `python -m hop`."""

import os

from hop.routes import Server
from hop.service import Service
from hop.store import Store


def main() -> None:
    service = Service(Store())
    Server(int(os.environ.get("PORT", "8087")), service).serve_forever()


if __name__ == "__main__":
    main()
