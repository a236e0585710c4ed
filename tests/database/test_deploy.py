from pathlib import Path

import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"


def test_the_tables_of_a_cluster_are_those_of_the_schema_and_the_engine_parses_them(clickhouse, capsys, monkeypatch):
    monkeypatch.syspath_prepend(str(DEPLOY))
    import cluster_tables

    cluster_tables.main()
    assert capsys.readouterr().out == (DEPLOY / "clickhouse" / "replicated.sql").read_text(encoding="utf-8")
    statements = cluster_tables.cluster_statements()
    assert len(statements) > 20
    for statement in statements[:-1]:
        assert clickhouse.query(f"EXPLAIN AST {statement}").startswith(("Create", "Alter"))


def test_the_manifests_call_commands_with_arguments_that_they_accept():
    from argparse import ArgumentParser

    from pulseboard.cli.commands.data import push
    from pulseboard.cli.commands.diagnosis import diagnose
    from pulseboard.cli.commands.view import serve
    from pulseboard.database.url import parse_url

    pods = [
        one["spec"]["template"]["spec"]["containers"][0]["args"]
        for one in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8"))
        if "template" in one["spec"]
    ]
    units = [
        next(line for line in unit.read_text(encoding="utf-8").splitlines() if line.startswith("ExecStart=")).split()[
            1:
        ]
        for unit in (DEPLOY / "pulseboard-push.service", DEPLOY / "pulseboard-serve.service")
    ]
    parser = ArgumentParser()
    push.configure(parser)
    for arguments in (pods[0], units[0]):
        assert arguments[0] == "push"
        assert parse_url(parser.parse_args(arguments[1:]).paths[-1]).name == "team"
    worker = (DEPLOY / "pulseboard-diagnose.service").read_text(encoding="utf-8")
    diagnosing = ArgumentParser()
    diagnose.configure(diagnosing)
    (start,) = (line for line in worker.splitlines() if line.startswith("ExecStart="))
    assert diagnosing.parse_args(start.split()[2:]).watch
    for arguments in (pods[1], units[1]):
        assert parse_url(serve.paths_of(serve.arguments(arguments))[0]).name == "team"
