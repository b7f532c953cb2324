"""Settings, read from the environment once."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

BODY_LIMIT = 65_536
TITLE_LIMIT = 200


@dataclass(frozen=True)
class Settings:
    """What an operator decides; an empty `operator_secret` admits nobody."""

    port: int
    operator_secret: str
    files: Path

    @classmethod
    def read(cls, environ: Mapping[str, str] = os.environ) -> "Settings":
        """Settings as the environment has them."""
        return cls(
            port=int(environ.get("PORT", "8086")),
            operator_secret=environ.get("SENTINEL_ADMIN_TOKEN", ""),
            files=Path.cwd() / "files",
        )


def port() -> int:
    """The port to listen on."""
    return Settings.read().port
