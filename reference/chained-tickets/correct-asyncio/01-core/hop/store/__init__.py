"""Where links are kept."""


class Links(dict):
    """In memory."""

    def put(self, code, url, expires_at):
        self[code] = (url, expires_at)

    def find(self, code):
        return self.get(code)

    def drop(self, code):
        del self[code]
