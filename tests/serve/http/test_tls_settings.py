"""TLS files that cannot be used: the error says so before the server prints its address."""

import subprocess

import pytest

from pulseboard.serve.settings import BadSetting, ServerSettings


@pytest.fixture(scope="module")
def pem(tmp_path_factory):
    """A certificate, its key, another key, and the key with a password."""
    directory = tmp_path_factory.mktemp("tls")
    names = ("cert", "key", "other", "locked")
    paths = {name: str(directory / f"{name}.pem") for name in names}
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    commands = [
        [*request, "-keyout", paths["key"], "-out", paths["cert"]],
        ["openssl", "genpkey", "-algorithm", "RSA", "-out", paths["other"]],
        ["openssl", "pkey", "-in", paths["key"], "-aes256", "-passout", "pass:secret", "-out", paths["locked"]],
    ]
    for command in commands:
        subprocess.run(command, check=True, capture_output=True)
    return paths


def test_a_certificate_with_its_key_is_accepted(pem):
    assert ServerSettings(certfile=pem["cert"], keyfile=pem["key"]).scheme == "https"


@pytest.mark.parametrize(
    ("certificate", "key", "why"),
    [
        ("cert", "other", "does not belong"),
        ("cert", None, "cannot be used"),
        ("key", "key", "cannot be used"),
        ("cert", "locked", "encrypted"),
    ],
)
def test_files_that_cannot_be_used_are_refused_with_the_reason(pem, certificate, key, why):
    with pytest.raises(BadSetting, match=why):
        ServerSettings(certfile=pem[certificate], keyfile=key and pem[key])


def test_a_file_that_is_not_pem_is_refused(tmp_path):
    (tmp_path / "cert.pem").write_bytes(b"not a certificate")
    with pytest.raises(BadSetting, match="cannot be used"):
        ServerSettings(certfile=str(tmp_path / "cert.pem"))
