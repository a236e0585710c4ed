"""`make contract`: runs schemathesis against the OpenAPI document of a real server. Not a test: it takes minutes.

Every operation is called with values that its schema allows and with values that it does not. A server error (5xx), a
status that the document does not list, or invalid data that is accepted makes it exit with code 1.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from servers import a_server, write_everything

CHECKS = ("not_a_server_error", "status_code_conformance", "negative_data_rejection")

# In addition to what schemathesis counts as a refusal: 413, for a body that is too large.
SETTINGS = """
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 413, 415, 422, 429]
"""


def main() -> int:
    """The exit code of schemathesis."""
    with tempfile.TemporaryDirectory() as made:
        logs, home = Path(made) / "logs", Path(made) / "home"
        write_everything(logs)
        with a_server(logs, home) as server:
            config = Path(made) / "schemathesis.toml"
            config.write_text(SETTINGS)
            command = [
                sys.executable,
                "-m",
                "schemathesis.cli",
                "--config-file",
                str(config),
                "run",
                f"{server.url}api/openapi.json",
            ]
            command += ["--url", f"{server.url}api", "--phases", "coverage,fuzzing", "--max-examples", "50"]
            # A stream never ends.
            command += ["--exclude-path", "/stream", *(word for check in CHECKS for word in ("-c", check))]
            return subprocess.run(command, cwd=made).returncode


if __name__ == "__main__":
    sys.exit(main())
