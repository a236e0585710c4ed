"""Writes the page's types of the HTTP interface from the server's OpenAPI document: `make types`.

The result is checked in, so that building the page needs neither Python nor this generator. Its first line tells which
document it was made from, and a test holds that against the server's own.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
WEB = ROOT / "web"
TYPES = WEB / "src" / "lib" / "api_types.ts"


def document() -> str:
    """The OpenAPI document as JSON, without what differs between versions and addresses."""
    from pulseboard.serve.endpoint import load_endpoints
    from pulseboard.serve.openapi import document

    return json.dumps(document(load_endpoints(), version="", prefix=""), sort_keys=True)


def first_line(text: str) -> str:
    """What the types made of this document begin with."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return f"// The words of the HTTP interface. Made by `make types` from the server's document {digest}: do not edit."


def write_types() -> None:
    """Generate them anew."""
    generator = WEB / "node_modules" / "openapi-typescript" / "bin" / "cli.js"
    if not generator.exists():
        sys.exit("The generator is missing: run `npm ci` in web, then: make types")
    text = document()
    with tempfile.TemporaryDirectory() as made:
        source, result = Path(made) / "openapi.json", Path(made) / "types.ts"
        source.write_text(text, encoding="utf-8")
        subprocess.run(["node", str(generator), str(source), "--output", str(result)], cwd=WEB, check=True)
        TYPES.write_text(f"{first_line(text)}\n\n{result.read_text(encoding='utf-8')}", encoding="utf-8")


if __name__ == "__main__":
    write_types()
