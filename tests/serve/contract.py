"""`make contract`: schemathesis over the OpenAPI document of a real server. Not a test: it takes minutes.

Every operation is asked with values that its schema allows and with values that it does not. A failure of the server
(5xx), a status or a type that the document does not name, or wrong data that is taken, ends it with code 1.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from servers import a_server, write_everything

CHECKS = ("not_a_server_error", "status_code_conformance", "negative_data_rejection")


def main() -> int:
    """The exit code of schemathesis."""
    with tempfile.TemporaryDirectory() as made:
        logs, home = Path(made) / "logs", Path(made) / "home"
        write_everything(logs)
        with a_server(logs, home) as server:
            command = [sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}api/openapi.json"]
            command += ["--url", f"{server.url}api", "--phases", "coverage,fuzzing", "--max-examples", "50"]
            # A stream has no end to wait for.
            command += ["--exclude-path", "/stream", *(word for check in CHECKS for word in ("-c", check))]
            return subprocess.run(command, cwd=made).returncode


if __name__ == "__main__":
    sys.exit(main())
