"""Python without the extra `mcp`, for processes that have this folder in their PYTHONPATH."""

from __future__ import annotations

import importlib.metadata
import sys
from typing import Any

ABSENT = ("mcp", "mcp_types")

_version = importlib.metadata.version


def _version_elsewhere(distribution_name: str) -> str:
    if distribution_name in ABSENT:
        raise importlib.metadata.PackageNotFoundError(distribution_name)
    return _version(distribution_name)


modules: dict[str, Any] = sys.modules
modules |= dict.fromkeys(ABSENT)  # None: it cannot be imported
importlib.metadata.version = _version_elsewhere
