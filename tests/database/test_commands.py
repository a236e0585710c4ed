import json

from cli.scripts.test_json import check as compared
from cli.scripts.test_json import documented
from log_directories import append, write_run

from pulseboard.cli import main
from pulseboard.database.stored.entries import StoredEntries


def test_push_check_list_and_export_from_the_command_line(tmp_path, url, connection, capsys):
    path = write_run(tmp_path / "logs" / "run", *((step, float(step)) for step in range(70)))
    assert main(["push", str(tmp_path / "logs"), url, "--once", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"schema": 1, "runs": 1, "points": 70, "waiting": 0}
    append(path, (70, 1.0))
    assert main(["push", str(tmp_path / "logs"), url, "--once"]) == 0
    assert "Pushed 1 point of 1 run" in capsys.readouterr().out
    assert main(["db", "check", url]) == 0
    assert "1 run, 1 series, 71 points: all is well." in capsys.readouterr().out
    assert main(["export", url, "-o", str(tmp_path / "all.csv")]) == 0
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 72
    assert main(["import", url, str(tmp_path / "imported")]) == 2
    assert "holds no log files" in capsys.readouterr().err

    connection.run("INSERT INTO {db}.points SELECT * FROM {db}.points LIMIT 3")
    assert main(["db", "check", url, "--json"]) == 1
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert {problem["kind"] for problem in problems} >= {"points"}


def test_push_needs_a_directory_and_a_database(tmp_path, capsys):
    for arguments in ([str(tmp_path)], ["clickhouse://db/team"], ["clickhouse://db/team", str(tmp_path)]):
        assert main(["push", *arguments]) == 2
        assert "and then the database" in capsys.readouterr().err


def test_json_of_the_commands_is_as_the_page_says(tmp_path, url, connection, capsys):
    write_run(tmp_path / "logs" / "run", *((step, float(step)) for step in range(70)))
    StoredEntries(connection, "marks").change(lambda marks: marks.update(run={"pinned": True}), by="Anna")
    for command in ("push", "db check", "db prune", "db audit"):
        more = {"push": [str(tmp_path / "logs"), url, "--once"], "db prune": [url, "--keep", "0h", "--dry-run"]}
        if command == "db check":
            connection.run("INSERT INTO {db}.points SELECT * FROM {db}.points LIMIT 1")
        assert main([*command.split(), *more.get(command, [url]), "--json"]) == (command == "db check")
        fields, seen = documented()[command], set()
        compared(json.loads(capsys.readouterr().out), fields, "", seen)
        assert seen == fields.keys()
