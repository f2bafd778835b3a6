"""The version of this program. Every journal names the version that wrote it."""

__version__ = "0.4.0"
