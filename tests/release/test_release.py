"""What is released: the source archive holds the page, and a release stops where something is not ready."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"


@pytest.fixture
def module(monkeypatch):
    """Imports a file of packaging/."""
    monkeypatch.syspath_prepend(str(PACKAGING))

    def load(name):
        spec = importlib.util.spec_from_file_location(f"packaging_{name}", PACKAGING / f"{name}.py")
        made = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, made)
        spec.loader.exec_module(made)
        return made

    return load


# ---- the source archive


def test_building_from_the_source_archive_needs_no_node(module, tmp_path, monkeypatch):
    backend = module("backend")
    monkeypatch.setattr(backend.shutil, "which", lambda name: None)
    monkeypatch.setattr(backend.build_meta, "get_requires_for_build_wheel", lambda settings=None: [])
    monkeypatch.setattr(backend.build_meta, "get_requires_for_build_sdist", lambda settings=None: [])
    assert backend.get_requires_for_build_wheel() == [backend.NODE]
    assert backend.get_requires_for_build_sdist() == [backend.NODE]
    monkeypatch.setattr(backend, "WEB", tmp_path / "web")
    assert backend.get_requires_for_build_wheel() == []


def test_the_source_archive_has_the_kernel_the_page_and_no_compiled_files():
    patterns = (ROOT / "MANIFEST.in").read_text(encoding="utf-8")
    assert "graft src/pulseboard\n" in patterns  # sources of the kernel, and the page in serve/page
    assert "graft packaging\n" in patterns  # the build backend
    assert "*.so" in patterns


# ---- the checks of a release


@pytest.fixture
def project(tmp_path):
    """A repository that can be released as 1.2.3."""
    (tmp_path / "src" / "pulseboard").mkdir(parents=True)
    (tmp_path / "src" / "pulseboard" / "__init__.py").write_text('__version__ = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.3, 2026-11-18\n\n- a change\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "first")
    return tmp_path


def git(directory, *arguments):
    subprocess.run(["git", *arguments], cwd=directory, check=True, capture_output=True)


def test_a_clean_tree_with_a_dated_changelog_can_be_released(module, project):
    release = module("release")
    assert release.find_obstacles(project, release.version_of(project)) == []


def test_everything_that_is_not_ready_is_named_at_once(module, project):
    release = module("release")
    git(project, "tag", "v1.2.3")
    (project / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.3, not released yet\n")
    changed, tagged, changelog = release.find_obstacles(project, "1.2.3")
    assert "uncommitted changes: CHANGELOG.md" in changed
    assert "the tag v1.2.3 exists" in tagged
    assert "'1.2.3, not released yet'" in changelog


@pytest.fixture
def unreleased(project, monkeypatch):
    """The same with changes that were not released."""
    for name, value in {"NAME": "a", "EMAIL": "a@example.org"}.items():
        monkeypatch.setenv(f"GIT_AUTHOR_{name}", value)
        monkeypatch.setenv(f"GIT_COMMITTER_{name}", value)
    text = "# Changelog\n\n## 1.2.4, not released yet\n\n- another\n\n## 1.2.3, 2026-11-18\n\n- a change\n"
    (project / "CHANGELOG.md").write_text(text)
    git(project, "commit", "--quiet", "--all", "--message", "second")
    return project


def test_preparing_writes_the_version_and_the_heading_and_the_result_can_be_released(module, unreleased):
    release = module("release")
    release.prepare(unreleased, "1.3.0", day="2026-11-19")
    assert release.version_of(unreleased) == "1.3.0"
    text = (unreleased / "CHANGELOG.md").read_text()
    assert text == "# Changelog\n\n## 1.3.0, 2026-11-19\n\n- another\n\n## 1.2.3, 2026-11-18\n\n- a change\n"
    assert release.find_obstacles(unreleased, "1.3.0") == []


def test_nothing_is_prepared_from_a_changed_tree_or_without_changes_to_release(module, project, unreleased):
    release = module("release")
    with pytest.raises(SystemExit, match=r"1\.3 is not a version"):
        release.prepare(unreleased, "1.3", day="2026-11-19")
    (unreleased / "src" / "pulseboard" / "__init__.py").write_text('__version__ = "1.2.3"  # changed\n')
    with pytest.raises(SystemExit, match=r"uncommitted changes: src/pulseboard/__init__\.py"):
        release.prepare(unreleased, "1.3.0", day="2026-11-19")
    git(unreleased, "checkout", ".")
    release.prepare(unreleased, "1.3.0", day="2026-11-19")
    with pytest.raises(SystemExit, match=r"Nothing to release: the newest heading of CHANGELOG\.md is '1\.3\.0, 2026"):
        release.prepare(unreleased, "1.4.0", day="2026-11-19")


def test_a_version_that_no_index_accepts_is_refused(module, project):
    assert "is not a version" in module("release").find_obstacles(project, "1.2")[0]


def test_checksums_are_those_of_sha256sum(module, tmp_path):
    file = tmp_path / "a.whl"
    file.write_bytes(b"abc")
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert module("release").checksums([file]) == f"{digest}  a.whl\n"


# ---- the other files


def test_the_conda_recipe_requires_what_the_package_does():
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (PACKAGING / "conda" / "meta.yaml").read_text(encoding="utf-8")
    for requirement in project["dependencies"]:
        name_and_version = requirement.partition(";")[0].strip()
        name = name_and_version.split(">")[0]
        assert f"- {name} {name_and_version.removeprefix(name)}" in recipe, requirement


def test_the_workflows_are_yaml_with_jobs():
    import yaml

    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
        assert all({"runs-on", "steps"} <= set(job) for job in jobs.values()), path.name


def test_the_notice_names_every_bundled_library_of_the_page():
    import json

    package = json.loads((ROOT / "web" / "package.json").read_text(encoding="utf-8"))
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8").lower()
    bundled = {*package.get("dependencies", {}), "svelte"}
    assert [name for name in bundled if name.lower() not in notice] == []
