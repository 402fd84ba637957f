"""msgspec reads values into a type only after one thread has made that type ready."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_FILES = [
    p for folder in ("segments", "pinotadmin", "pinotadmin_client") for p in sorted((ROOT / folder).rglob("*.py"))
]

# Without `prepared` this ends by SIGSEGV within the first dozens of types.
_FIRST_READS = """
import sys, threading, types
import msgspec
from {module} import prepared

sys.setswitchinterval(1e-6)
fields = "".join(f"    a{{k}}: dict[str, list[int]] | None = None\\n" for k in range(20))
text = "import msgspec\\nclass B(msgspec.Struct):\\n" + fields + "class A(msgspec.Struct):\\n    b: B | None = None\\n"

def first_read(model, barrier):
    barrier.wait()
    msgspec.convert({{"b": {{"a19": {{"x": [1]}}}}}}, prepared(model))

for number in range(60):
    module = sys.modules[f"m{{number}}"] = types.ModuleType(f"m{{number}}")
    exec("from __future__ import annotations\\n" + text, module.__dict__)
    barrier = threading.Barrier(4)
    threads = [threading.Thread(target=first_read, args=(module.A, barrier)) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
print("read")
"""


@pytest.mark.parametrize("module", ["segments.domain.formats.json_model", "pinotadmin_client.prepared_types"])
def test_threads_that_read_the_first_values_of_a_type_at_once_all_read_them(module: str) -> None:
    code = _FIRST_READS.format(module=module)
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "read\n"), ran.stderr


def test_values_are_read_into_prepared_types_only() -> None:
    unprepared = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in _FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and not _is_prepared(node)
    ]
    assert unprepared == []


def _is_prepared(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    if name == "msgspec.convert":
        return ast.unparse(call.args[1]).startswith("prepared(")
    if name.startswith("msgspec.") and name.endswith(".decode"):
        return all(ast.unparse(k.value).startswith("prepared(") for k in call.keywords if k.arg == "type")
    return True
