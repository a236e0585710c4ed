"""Published healthy runs as samples."""

from zoo.scoring import published_samples
from zoo.scoring.verdicts import Verdict


def test_healthy_runs_are_samples_without_a_cause_and_few_of_a_folder(tmp_path, monkeypatch):
    names = [f"run{i}" for i in range(5)]
    for name in names:
        folder = tmp_path / "wild" / "someone+repo" / name
        folder.mkdir(parents=True)
        rows = [f"{i},{2.0 - 0.02 * i}" for i in range(40)]
        (folder / "log.csv").write_text("\n".join(["step,train/loss", *rows]) + "\n", encoding="utf-8")
    (tmp_path / "corpus").mkdir()
    found = [one.name for one in published_samples.trainings(published_samples.read(tmp_path / "wild/someone+repo"))]
    verdicts = [Verdict(f"wild/someone+repo/{name}", "healthy", "high") for name in found[1:]]
    verdicts.append(Verdict(f"wild/someone+repo/{found[0]}", "diverged", "high"))
    monkeypatch.setattr(published_samples, "SHARED", tmp_path)
    monkeypatch.setattr(published_samples, "all_verdicts", lambda: verdicts)
    samples = list(published_samples.samples_of_published())
    assert [one.name for one in samples] == found[1 : 1 + published_samples.MOST_PER_FOLDER]
    assert {one.causes for one in samples} == {()}
    assert samples[0].signs["sign:loss-fell-some"] is True


def test_without_the_logs_there_are_no_samples(tmp_path, monkeypatch):
    monkeypatch.setattr(published_samples, "SHARED", tmp_path)
    assert list(published_samples.samples_of_published()) == []
