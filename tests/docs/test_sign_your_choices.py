"""The functions on the page "Sign your choices" sign every vector as it says, in each language that runs here."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.mcp_programs import node

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "sign-your-choices.md").read_text("utf-8")
VECTORS = json.loads((ROOT / "spec" / "vectors" / "statements.json").read_text("utf-8"))["vectors"]
LONGEST = 15
"""Lines of code that canonical JSON, the chain and the signature take in a language that has JSON."""
JAVASCRIPT_TAIL = """
import { readFileSync } from "node:fs";
for (const { secret, statement, move_requests: shown = [] } of JSON.parse(readFileSync(process.argv[2])).vectors) {
  let views = null;
  for (const request of shown) console.log((views = chained(views, request)));
  console.log(sign(secret, statement));
}
"""
GO_TAIL = """
func main() {
	var file struct {
		Vectors []struct {
			Secret        string
			Statement     map[string]any
			Move_requests []any
		}
	}
	text, _ := os.ReadFile(os.Args[1])
	json.Unmarshal(text, &file)
	for _, vector := range file.Vectors {
		views := ""
		for _, request := range vector.Move_requests {
			views = Chained(views, request)
			fmt.Println(views)
		}
		secret, _ := hex.DecodeString(vector.Secret)
		fmt.Println(Sign(secret, vector.Statement))
	}
}
"""
JAVA_TAIL = """
class Vectors {
    static Map<String, Object> map(Object... parts) {
        var map = new HashMap<String, Object>();
        for (int i = 0; i < parts.length; i += 2) map.put((String) parts[i], parts[i + 1]);
        return map;
    }

    public static void main(String[] arguments) throws Exception {
        String views = null;
%s
    }
}
"""


def printed(language: str) -> str:
    """The code of a language on the page."""
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return str(block)


def expected() -> list[str]:
    lines = []
    for vector in VECTORS:
        lines += [*vector.get("chain", ()), vector["signature"]]
    return lines


def in_python(_: Path) -> list[str]:
    names: dict[str, Any] = {}
    exec(printed("python"), names)
    lines = []
    for vector in VECTORS:
        views = None
        for request in vector.get("move_requests", ()):
            views = names["chained"](views, request)
            lines.append(views)
        lines.append(names["sign"](vector["secret"], vector["statement"]))
    return lines


def in_javascript(folder: Path) -> list[str]:
    program = folder / "signing.mjs"
    program.write_text(printed("javascript") + JAVASCRIPT_TAIL, "utf-8")
    return run(folder, node(), program)


def in_java(folder: Path) -> list[str]:
    lines = []
    for vector in VECTORS:
        lines.append("views = null;")
        shown = map(java_literal, vector.get("move_requests", ()))
        lines += [f"System.out.println(views = Signing.chained(views, {request}));" for request in shown]
        statement = java_literal(vector["statement"])
        lines.append(f'System.out.println(Signing.sign("{vector["secret"]}", {statement}));')
    head, _, code = printed("java").partition("class Signing")
    # The first class of a file is the one that runs.
    program = folder / "Vectors.java"
    program.write_text(f"{head}{JAVA_TAIL % chr(10).join(lines)}class Signing{code}", "utf-8")
    return run(folder, "java", program)


def in_go(folder: Path) -> list[str]:
    program = folder / "signing.go"
    program.write_text(printed("go").replace('"strings"', '"fmt"\n\t"os"\n\t"strings"') + GO_TAIL, "utf-8")
    return run(folder, "go", "run", program)


def java_literal(value: object) -> str:
    if isinstance(value, dict):
        parts = [part for name, inner in value.items() for part in (java_literal(name), java_literal(inner))]
        return f"map({', '.join(parts)})"
    if isinstance(value, list):
        return f"Arrays.<Object>asList({', '.join(map(java_literal, value))})"
    return json.dumps(value)


def run(folder: Path, *command: str | Path) -> list[str]:
    vectors = ROOT / "spec" / "vectors" / "statements.json"
    ended = subprocess.run([*command, vectors], cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.split()


LANGUAGES: dict[str, Callable[[Path], list[str]]] = {"python": in_python, "javascript": in_javascript}
LANGUAGES |= {name: signed for name, signed in (("java", in_java), ("go", in_go)) if shutil.which(name)}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_printed_functions_sign_every_vector(language: str, tmp_path: Path) -> None:
    assert LANGUAGES[language](tmp_path) == expected()


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_they_are_short(language: str) -> None:
    code = [
        line for line in printed(language).splitlines() if len(line) > 1 and not line.startswith(("import", "from"))
    ]
    assert len(code) <= LONGEST
