import os

from hop.server import make_server

if __name__ == "__main__":
    make_server(int(os.environ.get("PORT", 8087))).serve_forever()
