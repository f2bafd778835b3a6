"""The version of this program, for parts that may not import the package. Every journal names the version that wrote it."""

from league import __version__ as __version__
