"""Parts of a package without its own imports, and all of it for who asks later."""

import json
import subprocess
import sys


def in_a_fresh_process(code):
    return json.loads(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def test_the_server_loads_no_command_line_and_no_supervisors():
    code = "import pulseboard.serve.quiet, sys, json; print(json.dumps(sorted(sys.modules)))"
    loaded = in_a_fresh_process(code)
    assert "uvicorn.server" in loaded
    assert [name for name in loaded if name in ("click", "uvicorn.main", "uvicorn.supervisors", "numpy")] == []


def test_who_asks_for_the_whole_package_later_gets_it():
    code = (
        "import pulseboard.serve.quiet, uvicorn, json\n"
        "from uvicorn import run\n"
        "print(json.dumps([callable(uvicorn.run), uvicorn.Server.__name__, uvicorn.__version__.count('.')]))"
    )
    assert in_a_fresh_process(code) == [True, "Server", 2]


def test_a_package_that_is_there_already_is_left_alone():
    code = "import uvicorn, json\nimport pulseboard.serve.quiet\nprint(json.dumps(callable(uvicorn.run)))"
    assert in_a_fresh_process(code) is True


def test_one_that_is_not_installed_is_said_to_be_missing():
    code = (
        "import json\nfrom pulseboard.serve.light_import import import_lightly\n"
        "try: import_lightly('no_such_package')\nexcept ModuleNotFoundError as error: print(json.dumps(error.name))"
    )
    assert in_a_fresh_process(code) == "no_such_package"
