"""Notebooks of examples/notebooks, run cell by cell as their readers run them."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"


def run(name: str) -> dict[str, Any]:
    """Run all cells of a notebook; return the names that they leave (Any: objects of the notebook)."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(_cells(FOLDER / name), start=1):
        exec(compile(ast.parse(cell), f"cell {number}", "exec"), names)
    return names


def _cells(file: Path) -> list[str]:
    """The code of a notebook, which must be stored without its outputs."""
    notebook = json.loads(file.read_text("utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code), "clear all outputs"
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    return ["".join(cell["source"]) for cell in code]
