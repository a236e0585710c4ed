"""Access: hosts, origins, tokens and roles, and nothing outside the log directories."""

import http.client
import re
import socket
import ssl
import subprocess
import urllib.request

import pytest
from log_directories import write_run
from servers import start_server

from pulseboard.serve.security.access import BadToken, Token, is_local, read_token_file
from pulseboard.serve.settings import BadSetting, ServerSettings

FULL, READ = "f" * 20, "r" * 20


@pytest.fixture(scope="module")
def guarded(logs, tmp_path_factory):
    """A server that other machines can reach, with one token per role."""
    home = tmp_path_factory.mktemp("home")
    server = start_server(
        *(logs, "--port", "0", "--host", "0.0.0.0", "--read_token", READ, "--allow_host", "board.example"),
        home=home,
        env={"PULSEBOARD_TOKEN": FULL},
    )
    yield server
    server.stop()


# ---- hosts and origins


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1:6006", "[::1]:6006", "192.168.1.5", "localhost."]
)
def test_names_of_this_machine_are_accepted(server, host):
    assert server.api("status", headers={"host": host}).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "evil.example:6006", "", "127.0.0.1.evil.example"]
)
def test_a_foreign_host_name_is_refused(server, host):
    response = server.api("status", headers={"host": host})
    assert response.status == 403
    assert "--allow_host" in response.json["error"]["do"]


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost.evil.example", "file://", "http://localhost:1"]
)
def test_a_request_from_a_page_of_another_site_is_refused(server, origin):
    for method, body in (("GET", None), ("PUT", {"marks": {}})):
        response = server.api("marks", body, method=method, headers={"origin": origin})
        assert (response.status, "another site" in response.error) == (403, True)


def test_requests_from_the_page_itself_are_accepted(server):
    origin = server.url.rstrip("/")
    assert server.api("marks", {"marks": {}}, method="PUT", headers={"origin": origin}).status == 200


def test_a_fetch_from_another_site_is_refused_but_a_link_works(server):
    fetch = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert server.api("status", headers=fetch).status == 403
    assert server.request("", headers=link).status == 200


def test_a_form_cannot_send_json(server):
    response = server.api("marks", b'{"marks": {}}', method="PUT", headers={"content-type": "text/plain"})
    assert response.status == 400
    assert "application/json" in response.json["error"]["do"]


def test_other_sites_may_not_read_responses_or_frame_the_page(server):
    for path in ("", "api/status", "api/nothing"):
        headers = server.request(path, headers={"origin": server.url.rstrip("/")}).headers
        assert not [name for name in headers if name.lower().startswith("access-control")]
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'self'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"


# ---- tokens and roles


@pytest.mark.parametrize("path", ["status", "runs", "stream", "marks", "export", "openapi.json", "nothing"])
def test_every_endpoint_requires_a_token(guarded, path):
    response = guarded.api(path)
    assert response.status == 401
    assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("token", ["", "x", FULL[:-1], FULL + "f", FULL.upper(), "sha256:" + "0" * 64, "\u00e9" * 20])
def test_a_wrong_token_is_refused(guarded, token):
    header = {"authorization": f"Bearer {token}".encode().decode("latin-1")}
    assert guarded.api("status", headers=header).status == 401


def test_the_token_decides_the_role(guarded):
    assert guarded.api("status", token=FULL).json["role"] == "full"
    assert guarded.api("status", token=READ).json["role"] == "read"


def test_a_read_token_cannot_change_anything(guarded):
    assert guarded.api("marks", token=READ).status == 200
    refused = guarded.api("marks", {"marks": {"plain": {"pinned": True}}}, method="PUT", token=READ)
    assert (refused.status, "read-only" in refused.error) == (403, True)
    assert guarded.api("marks", token=FULL).json == {"marks": {}}
    assert guarded.api("marks", {"marks": {}}, method="PUT", token=FULL).status == 200


def test_the_link_sets_a_cookie_that_scripts_and_other_sites_cannot_read(guarded):
    opened = guarded.request(f"?token={READ}")
    assert (opened.status, opened.headers["location"]) == (302, "/")
    cookie = opened.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    kept = {"cookie": cookie.partition(";")[0]}
    assert guarded.api("status", headers=kept).json["role"] == "read"
    assert guarded.request("", headers=kept).status == 200


def test_two_servers_on_one_machine_have_different_cookies(guarded):
    assert f"pulseboard_{guarded.port}=" in guarded.request(f"?token={READ}").headers["set-cookie"]


def test_a_browser_without_a_token_gets_a_form(guarded):
    form = guarded.request("")
    assert form.status == 401
    assert b'name="token"' in form.body
    assert b"Wrong token" not in form.body


def test_a_wrong_token_is_called_wrong_and_does_not_stay_in_the_address(guarded):
    refused = guarded.request("?token=wrong")
    assert (refused.status, refused.headers["location"]) == (302, "/?wrong_token")
    assert "set-cookie" not in refused.headers
    assert b"Wrong token" in guarded.request("?wrong_token").body
    form = {"content-type": "application/x-www-form-urlencoded"}
    posted = guarded.request("", b"token=wrong", headers=form)
    assert posted.status == 401
    assert b"Wrong token" in posted.body


def test_the_form_sets_the_cookie_without_the_token_in_an_address(guarded):
    form = {"content-type": "application/x-www-form-urlencoded"}
    opened = guarded.request("", f"token={READ}".encode(), headers=form)
    assert (opened.status, opened.headers["location"]) == (303, "/")
    kept = {"cookie": opened.headers["set-cookie"].partition(";")[0]}
    assert guarded.api("status", headers=kept).json["role"] == "read"
    foreign = guarded.request("", f"token={READ}".encode(), headers={**form, "origin": "https://evil.example"})
    assert foreign.status == 403


def test_a_link_from_another_site_opens_the_page_without_the_cookie(guarded):
    assert guarded.request("", headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}).status == 200


def test_a_name_behind_a_proxy_must_be_allowed(guarded):
    headers = {"host": "board.example", "origin": "https://board.example"}
    assert guarded.api("status", token=FULL, headers=headers).status == 200
    assert guarded.api("status", token=FULL, headers={"host": "other.example"}).status == 403
    # A proxy that passes on its own name for this server.
    assert guarded.api("status", token=FULL, headers={"origin": "https://board.example"}).status == 200


def test_the_name_of_this_machine_is_accepted_if_a_token_is_required(guarded, server):
    name = socket.gethostname().partition(".")[0]
    for host in (name, f"{name}.cluster.example"):
        assert guarded.api("status", token=FULL, headers={"host": host}).status == 200
    assert server.api("status", headers={"host": f"{name}.evil.example"}).status == 403


def test_a_server_that_other_machines_can_reach_generates_a_token(serve, logs):
    server = serve(logs, "--bind_all", loaded=False)
    assert len(server.token) >= 32
    assert server.api("status").json["role"] == "full"
    server.token = None
    # A name that only other machines use for this one.
    assert server.api("status", headers={"host": "10.1.2.3"}).status == 401
    # A proxy on this machine, for someone else.
    for header in ("x-forwarded-for", "forwarded", "x-real-ip", "via"):
        assert server.api("status", headers={header: "10.1.2.3"}).status == 401


def test_this_machine_needs_no_token_unless_the_user_set_one(serve, guarded, logs):
    server = serve(logs, "--bind_all", loaded=False)
    server.token = None
    for host in ("localhost", "127.0.0.1", f"localhost:{server.port}"):
        assert server.api("status", headers={"host": host}).json["role"] == "full"
    assert guarded.api("status").status == 401


def test_a_generated_token_works_after_a_restart_until_it_is_replaced(serve, logs, tmp_path):
    first = serve(logs, "--bind_all", loaded=False)
    token = first.token
    first.stop()
    elsewhere = {"host": "10.1.2.3"}
    again = serve(logs, "--bind_all", loaded=False)
    assert again.token is None
    assert again.api("status", token=token, headers=elsewhere).status == 200
    assert again.api("status", token=token[:-1], headers=elsewhere).status == 401
    again.stop()
    replaced = serve(logs, "--bind_all", "--new_token", loaded=False)
    assert replaced.api("status", token=token, headers=elsewhere).status == 401
    assert replaced.api("status", headers=elsewhere).status == 200
    (kept,) = (tmp_path / "config").iterdir()
    assert kept.stat().st_mode & 0o077 == 0


def test_the_generated_token_is_not_written_to_any_file(serve, logs, tmp_path):
    server = serve(logs, "--bind_all")
    found = subprocess.run(["grep", "-rl", server.token, str(tmp_path)], capture_output=True, text=True)
    assert found.stdout == ""


def test_a_token_file_may_contain_hashes(serve, logs, tmp_path):
    import hashlib

    file = tmp_path / "tokens"
    file.write_text(f"# comment\nread sha256:{hashlib.sha256(READ.encode()).hexdigest()}\nfull {FULL}\n")
    server = serve(logs, "--token_file", file, loaded=False)
    assert server.api("status").status == 401
    assert server.api("status", token=READ).json["role"] == "read"
    assert server.api("status", token=FULL).json["role"] == "full"


@pytest.mark.parametrize("text", ["", "full", "some TOKEN", "full short", "read sha256:12", "full a b"])
def test_an_invalid_token_file_is_refused(tmp_path, text):
    file = tmp_path / "tokens"
    file.write_text(text)
    with pytest.raises(BadToken):
        read_token_file(str(file))


def test_only_the_hash_of_a_token_is_kept():
    token = Token.of(FULL, role="full")
    assert FULL not in repr(token)
    settings = ServerSettings(token=FULL)
    settings.tokens()
    assert FULL not in repr(settings)


@pytest.mark.parametrize(
    ("host", "local"),
    [("localhost", True), ("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("0.0.0.0", False), ("box", False)],
)
def test_only_local_addresses_work_without_a_token(host, local):
    assert is_local(host) is local
    assert bool(ServerSettings(host=host).tokens()) is not local


@pytest.mark.parametrize("prefix", ["/a?b", "/../x", "/a#b", "/<x>", "/é"])
def test_an_invalid_prefix_is_refused(prefix):
    with pytest.raises(BadSetting):
        ServerSettings(prefix=prefix)


# ---- nothing outside the log directories


PATHS = [
    *("../secret.txt", "..%2fsecret.txt", "%2e%2e/secret.txt", "assets/../../secret.txt", "/etc/passwd"),
    *("//etc/passwd", "..\\secret.txt", "assets/..%5c..%5csecret.txt", "%00", "assets/%00.js", "index.html/../../x"),
    *("...", "api/../../x"),
]


@pytest.mark.parametrize("path", PATHS)
def test_no_path_leads_out_of_the_page(server, path):
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.putrequest("GET", "/" + path, skip_host=True, skip_accept_encoding=True)
    connection.putheader("host", "localhost")
    connection.endheaders()
    response = connection.getresponse()
    body = response.read()
    connection.close()
    assert response.status in (400, 404)
    assert b"root:" not in body


@pytest.mark.parametrize(
    "name", ["../plain", "/etc/passwd", "plain/../rich", "..", ".", "\x00", "plain\x00", "a" * 5000]
)
def test_a_run_name_is_never_used_as_a_path(server, name):
    from urllib.parse import quote

    response = server.api(f"points?run={quote(name)}&tag=loss")
    assert response.status in (400, 404)


def test_links_out_of_the_log_directory_are_followed_only_on_request(serve, tmp_path):
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


def test_unusual_names_work_everywhere(serve, tmp_path):
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


def test_with_a_certificate_the_server_uses_tls(serve, logs, tmp_path):
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
    with opener.open(request, timeout=120) as response:
        assert response.status == 200
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=trust)
    connection.request("GET", f"/?token={FULL}")
    assert "Secure" in connection.getresponse().getheader("set-cookie")
    connection.close()


def test_localhost_cannot_be_reached_from_other_machines(server):
    here = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, family=socket.AF_INET)}
    for address in here - {"127.0.0.1"}:
        if not re.match(r"127\.", address):
            with (
                pytest.raises((ConnectionError, TimeoutError)),
                socket.create_connection((address, server.port), timeout=2),
            ):
                pass


def test_a_run_json_that_is_a_link_is_not_read(serve, tmp_path):
    write_run(tmp_path / "logs" / "a" / "logs" / "tensorboard", (0, 1.0))
    (tmp_path / "secret.json").write_text('{"config": {"password": "hunter2"}, "name": "hunter2"}')
    (tmp_path / "logs" / "a" / "run.json").symlink_to(tmp_path / "secret.json")
    server = serve(tmp_path / "logs")
    for path in ("runs", "hparams", "diagnosis"):
        assert b"hunter2" not in server.api(path).body
    assert b"hunter2" not in server.api("table", {}).body


def test_a_link_with_any_token_does_not_replace_a_valid_cookie(guarded):
    cookie = guarded.request(f"?token={READ}").headers["set-cookie"].partition(";")[0]
    response = guarded.request("?token=anything", headers={"cookie": cookie})
    assert (response.status, response.headers["location"]) == (302, "/")
    assert "set-cookie" not in response.headers
    assert guarded.request(f"?token={FULL}", headers={"cookie": cookie}).headers["set-cookie"]
