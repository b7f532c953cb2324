"""The service as a program."""

import asyncio

from hop import settings
from hop.routes.api import Api
from hop.routes.http import serve
from hop.service import Shortener

if __name__ == "__main__":
    asyncio.run(serve(Api(Shortener()), settings.port()))
