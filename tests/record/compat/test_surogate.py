"""Surogate's snippet with no other change than the import."""

import json

import pytest


def test_the_documented_snippet_runs(tmp_path):
    from pulseboard.surogate import _surogate

    lines = []
    path = tmp_path / "log.json"
    logger = _surogate.TrainingRunLogger(str(path), callback=lines.append, verbosity=_surogate.LogVerbosity.DEFAULT)
    logger.log_moe_stats(100, 0.0234, 0.0012, utilization=0.9375, imbalance=1.45)
    logger.log_step(step=100, epoch=1.25, tokens=16384, duration_ms=156, norm=0.1234, loss=2.3456, lr=0.0002)
    logger.log_eval(step=500, epoch=1.5, tokens=32768, duration_ms=234, loss=2.1234)
    logger.close()
    logs = json.loads(path.read_text())
    assert [record["log"] for record in logs] == ["moe", "step", "eval"]
    assert (logs[1]["step_tokens"], logs[2]["eval_tokens"]) == (16384, 32768)
    assert len(lines) == 3


def test_what_get_moe_stats_returns_can_be_passed_on(tmp_path):
    from pulseboard import surogate as _surogate

    stats = {"aux_loss": 0.1, "z_loss": 0.01, "expert_utilization": 1.0, "load_imbalance": 1.2, "valid": True}
    path = tmp_path / "log.json"
    with _surogate.TrainingRunLogger(str(path), verbosity=_surogate.LogVerbosity.SILENT) as logger:
        logger.log_moe_stats(1, **stats)
        logger.log_moe_stats(2, **{**stats, "valid": False})
        with pytest.raises(TypeError, match="utilization"):
            logger.log_moe_stats(3, 0.1, 0.01)
    assert [(record["step"], record["load_imbalance"]) for record in json.loads(path.read_text())] == [(1, 1.2)]
