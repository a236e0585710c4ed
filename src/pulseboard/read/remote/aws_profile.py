"""Credentials of `aws configure`: obstore reads environment variables and instance roles, but not these files."""

from __future__ import annotations

import configparser
import os
from pathlib import Path
from typing import Any


def s3_settings() -> dict[str, Any]:
    """Settings for obstore's S3 store from ~/.aws, where environment variables do not set them already.

    Static keys are read directly. A profile that needs more than that (single sign-on, roles) is left to boto3, if
    that is installed.
    """
    settings: dict[str, Any] = {}
    name = os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE") or "default"
    credentials = _section("AWS_SHARED_CREDENTIALS_FILE", "credentials", name)
    config = _section("AWS_CONFIG_FILE", "config", name if name == "default" else f"profile {name}")
    if not any(variable in os.environ for variable in ("AWS_REGION", "AWS_DEFAULT_REGION")) and "region" in config:
        settings["region"] = config["region"]
    endpoint = next((os.environ[one] for one in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT") if os.environ.get(one)), "")
    if not endpoint and "endpoint_url" in config:
        settings["endpoint"] = endpoint = config["endpoint_url"]
    if endpoint.startswith("http://"):
        settings["client_options"] = {"allow_http": True}
    if "AWS_ACCESS_KEY_ID" in os.environ or not (credentials or config):
        return settings
    keys = {**config, **credentials}
    if "aws_access_key_id" in keys and "aws_secret_access_key" in keys:
        settings["access_key_id"] = keys["aws_access_key_id"]
        settings["secret_access_key"] = keys["aws_secret_access_key"]
        if "aws_session_token" in keys:
            settings["session_token"] = keys["aws_session_token"]
    elif keys:
        settings.update(_from_boto3())
    return settings


def _section(variable: str, file_name: str, section: str) -> dict[str, str]:
    path = os.environ.get(variable) or Path.home() / ".aws" / file_name
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read(path, encoding="utf-8")
    except (configparser.Error, UnicodeError):
        return {}
    return dict(parser[section]) if parser.has_section(section) else {}


def _from_boto3() -> dict[str, Any]:
    try:
        from obstore.auth.boto3 import Boto3CredentialProvider

        return {"credential_provider": Boto3CredentialProvider()}
    except Exception:  # boto3 is not installed, or has no credentials either: obstore looks elsewhere
        return {}
