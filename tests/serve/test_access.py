"""Who may ask, from where, and for what."""

import http.client
import re
import socket
import ssl
import subprocess
import urllib.request

import pytest
from log_directories import write_run
from servers import start_server

from pulseboard.serve.access import BadToken, Token, is_local, read_token_file
from pulseboard.serve.settings import BadSetting, Settings

FULL, READ = "f" * 20, "r" * 20


@pytest.fixture(scope="module")
def guarded(logs, tmp_path_factory):
    """A server that others reach, with a token for each role."""
    home = tmp_path_factory.mktemp("home")
    server = start_server(
        *(logs, "--port", "0", "--host", "0.0.0.0", "--read_token", READ, "--allow_host", "board.example"),
        home=home,
        env={"PULSEBOARD_TOKEN": FULL},
    )
    yield server
    server.stop()


# ---- places


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1:6006", "[::1]:6006", "192.168.1.5", "localhost."]
)
def test_names_of_this_machine_are_taken(board, host):
    assert board.api("status", headers={"host": host}).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "evil.example:6006", "", "127.0.0.1.evil.example"]
)
def test_a_name_of_somebody_elses_that_leads_here_is_refused(board, host):
    answer = board.api("status", headers={"host": host})
    assert answer.status == 403
    assert "--allow_host" in answer.json["error"]["do"]


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost.evil.example", "file://", "http://localhost:1"]
)
def test_a_request_of_another_sites_page_is_refused(board, origin):
    for method, body in (("GET", None), ("PUT", {"marks": {}})):
        answer = board.api("marks", body, method=method, headers={"origin": origin})
        assert (answer.status, "another site" in answer.error) == (403, True)


def test_the_pages_own_requests_are_taken(board):
    origin = board.url.rstrip("/")
    assert board.api("marks", {"marks": {}}, method="PUT", headers={"origin": origin}).status == 200


def test_a_fetch_from_another_site_is_refused_and_a_link_is_followed(board):
    fetch = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert board.api("status", headers=fetch).status == 403
    assert board.ask("", headers=link).status == 200


def test_a_form_cannot_send_json(board):
    answer = board.api("marks", b'{"marks": {}}', method="PUT", headers={"content-type": "text/plain"})
    assert answer.status == 400
    assert "application/json" in answer.json["error"]["do"]


def test_nobody_else_may_read_the_answers_or_frame_the_page(board):
    for path in ("", "api/status", "api/nothing"):
        headers = board.ask(path, headers={"origin": board.url.rstrip("/")}).headers
        assert not [name for name in headers if name.lower().startswith("access-control")]
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'self'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"


# ---- tokens and roles


@pytest.mark.parametrize("path", ["status", "runs", "stream", "marks", "export", "openapi.json", "nothing"])
def test_without_a_token_nothing_of_the_interface_answers(guarded, path):
    answer = guarded.api(path)
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("token", ["", "x", FULL[:-1], FULL + "f", FULL.upper(), "sha256:" + "0" * 64, "\u00e9" * 20])
def test_a_wrong_token_is_no_token(guarded, token):
    header = {"authorization": f"Bearer {token}".encode().decode("latin-1")}
    assert guarded.api("status", headers=header).status == 401


def test_the_roles_are_those_of_the_tokens(guarded):
    assert guarded.api("status", token=FULL).json["role"] == "full"
    assert guarded.api("status", token=READ).json["role"] == "read"


def test_a_reader_reads_and_changes_nothing(guarded):
    assert guarded.api("marks", token=READ).status == 200
    refused = guarded.api("marks", {"marks": {"plain": {"pinned": True}}}, method="PUT", token=READ)
    assert (refused.status, "change nothing" in refused.error) == (403, True)
    assert guarded.api("marks", token=FULL).json == {"marks": {}}
    assert guarded.api("marks", {"marks": {}}, method="PUT", token=FULL).status == 200


def test_the_link_becomes_a_cookie_that_scripts_and_other_sites_never_see(guarded):
    opened = guarded.ask(f"?token={READ}")
    assert (opened.status, opened.headers["location"]) == (302, "/")
    cookie = opened.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    kept = {"cookie": cookie.partition(";")[0]}
    assert guarded.api("status", headers=kept).json["role"] == "read"
    assert guarded.ask("", headers=kept).status == 200


def test_two_servers_of_a_machine_have_cookies_of_their_own(guarded):
    assert f"pulseboard_{guarded.port}=" in guarded.ask(f"?token={READ}").headers["set-cookie"]


def test_who_has_no_token_is_asked_for_one(guarded):
    asked = guarded.ask("")
    assert asked.status == 401
    assert b'name="token"' in asked.body
    assert guarded.ask("?token=wrong").status == 401


def test_a_link_from_another_site_opens_the_page_whose_requests_bring_the_cookie(guarded):
    assert guarded.ask("", headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}).status == 200


def test_a_name_behind_a_proxy_is_allowed_by_hand(guarded):
    headers = {"host": "board.example", "origin": "https://board.example"}
    assert guarded.api("status", token=FULL, headers=headers).status == 200
    assert guarded.api("status", token=FULL, headers={"host": "other.example"}).status == 403
    # A proxy that hands on its own name for us.
    assert guarded.api("status", token=FULL, headers={"origin": "https://board.example"}).status == 200


def test_this_machines_own_name_is_taken_where_a_token_is_asked_for(guarded, board):
    name = socket.gethostname().partition(".")[0]
    for host in (name, f"{name}.cluster.example"):
        assert guarded.api("status", token=FULL, headers={"host": host}).status == 200
    assert board.api("status", headers={"host": f"{name}.evil.example"}).status == 403


def test_an_address_that_others_reach_gets_a_token_of_its_own(serve, logs):
    server = serve(logs, "--bind_all", loaded=False)
    assert len(server.token) >= 32
    assert server.api("status").json["role"] == "full"
    server.token = None
    assert server.api("status").status == 401


def test_the_token_is_nowhere_in_the_process_arguments_or_in_files(serve, logs, tmp_path):
    server = serve(logs, "--bind_all")
    found = subprocess.run(["grep", "-rl", server.token, str(tmp_path)], capture_output=True, text=True)
    assert found.stdout == ""


def test_a_token_file_may_hold_hashes_only(serve, logs, tmp_path):
    import hashlib

    file = tmp_path / "tokens"
    file.write_text(f"# who may look\nread sha256:{hashlib.sha256(READ.encode()).hexdigest()}\nfull {FULL}\n")
    server = serve(logs, "--token_file", file, loaded=False)
    assert server.api("status").status == 401
    assert server.api("status", token=READ).json["role"] == "read"
    assert server.api("status", token=FULL).json["role"] == "full"


@pytest.mark.parametrize("text", ["", "full", "some TOKEN", "full short", "read sha256:12", "full a b"])
def test_a_bad_token_file_is_refused_with_words(tmp_path, text):
    file = tmp_path / "tokens"
    file.write_text(text)
    with pytest.raises(BadToken):
        read_token_file(str(file))


def test_a_token_is_kept_as_its_hash_only():
    token = Token.of(FULL, role="full")
    assert FULL not in repr(token)
    settings = Settings(token=FULL)
    settings.tokens()
    assert FULL not in repr(settings)


@pytest.mark.parametrize(
    ("host", "local"),
    [("localhost", True), ("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("0.0.0.0", False), ("box", False)],
)
def test_only_addresses_of_this_machine_go_without_a_token(host, local):
    assert is_local(host) is local
    assert bool(Settings(host=host).tokens()) is not local


@pytest.mark.parametrize("prefix", ["/a?b", "/../x", "/a#b", "/<x>", "/é"])
def test_a_prefix_that_is_no_path_is_refused(prefix):
    with pytest.raises(BadSetting):
        Settings(prefix=prefix)


# ---- nothing outside the log directories


TRAVELS = [
    *("../secret.txt", "..%2fsecret.txt", "%2e%2e/secret.txt", "assets/../../secret.txt", "/etc/passwd"),
    *("//etc/passwd", "..\\secret.txt", "assets/..%5c..%5csecret.txt", "%00", "assets/%00.js", "index.html/../../x"),
    *("...", "api/../../x"),
]


@pytest.mark.parametrize("path", TRAVELS)
def test_a_path_leads_nowhere_but_to_the_page(board, path):
    connection = http.client.HTTPConnection("127.0.0.1", board.port)
    connection.putrequest("GET", "/" + path, skip_host=True, skip_accept_encoding=True)
    connection.putheader("host", "localhost")
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert answer.status in (400, 404)
    assert b"root:" not in body


@pytest.mark.parametrize(
    "name", ["../plain", "/etc/passwd", "plain/../rich", "..", ".", "\x00", "plain\x00", "a" * 5000]
)
def test_a_runs_name_is_no_path(board, name):
    from urllib.parse import quote

    answer = board.api(f"points?run={quote(name)}&tag=loss")
    assert answer.status in (400, 404)


def test_links_out_of_the_log_directory_are_left_out_until_they_are_asked_for(serve, tmp_path):
    outside, logs = tmp_path / "outside", tmp_path / "logs"
    secret = write_run(outside / "secret", (0, 42.0))
    write_run(logs / "own", (0, 1.0))
    (logs / "linked").symlink_to(outside / "secret")
    (logs / "above").symlink_to(outside)
    (logs / "file").mkdir()
    (logs / "file" / "events.out.tfevents.1").symlink_to(secret)
    (logs / "twin").symlink_to(logs / "own")
    assert {run["name"] for run in serve(logs).api("runs").json["runs"]} == {"own", "twin"}
    every = {run["name"] for run in serve(logs, "--follow_links").api("runs").json["runs"]}
    assert {"linked", "above/secret", "file"} <= every


def test_odd_names_travel_whole_and_break_nothing(serve, tmp_path):
    names = [
        "a b",
        "ünï",
        "q?x=1&y",
        "per%cent",
        "new\nline",
        'quo"te',
        "<script>",
        "semi;colon",
        "..dots",
        "back\\slash",
        "'",
    ]
    for i, name in enumerate(names):
        write_run(tmp_path / "logs" / name, (0, float(i)), tag=f"tag {name}")
    server = serve(tmp_path / "logs")
    listed = {run["name"] for run in server.api("runs").json["runs"]}
    assert listed == set(names)
    found = server.window(sorted(names), [f"tag {name}" for name in names])
    assert {run: columns["y"][0] for (run, _), (_, columns) in found.items()} == {n: i for i, n in enumerate(names)}
    assert server.api("export").status == 200


# ---- TLS


def test_with_a_certificate_it_speaks_tls(serve, logs, tmp_path):
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    server = serve(logs, "--certfile", certificate, "--keyfile", key, "--token", FULL, loaded=False)
    assert server.url.startswith("https://")
    trust = ssl.create_default_context(cafile=str(certificate))
    opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=trust), urllib.request.ProxyHandler({}))
    request = urllib.request.Request(server.url + "api/status", headers={"authorization": f"Bearer {FULL}"})
    with opener.open(request, timeout=10) as answer:
        assert answer.status == 200
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=trust)
    connection.request("GET", f"/?token={FULL}")
    assert "Secure" in connection.getresponse().getheader("set-cookie")
    connection.close()


def test_localhost_is_not_reached_from_elsewhere(board):
    here = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, family=socket.AF_INET)}
    for address in here - {"127.0.0.1"}:
        if not re.match(r"127\.", address):
            with (
                pytest.raises((ConnectionError, TimeoutError)),
                socket.create_connection((address, board.port), timeout=2),
            ):
                pass


def test_a_run_file_that_is_a_link_out_tells_nothing(serve, tmp_path):
    write_run(tmp_path / "logs" / "a" / "logs" / "tensorboard", (0, 1.0))
    (tmp_path / "secret.json").write_text('{"config": {"password": "hunter2"}, "name": "hunter2"}')
    (tmp_path / "logs" / "a" / "run.json").symlink_to(tmp_path / "secret.json")
    server = serve(tmp_path / "logs")
    for path in ("runs", "hparams", "diagnosis"):
        assert b"hunter2" not in server.api(path).body
    assert b"hunter2" not in server.api("table", {}).body
