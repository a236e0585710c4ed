"""The Guide tab."""

from servers import a_server

import pulseboard as pb


def write_experts(directory):
    """A mixture of experts that uses too few of them, and a run that no guide fits."""
    with pb.init(dir=directory, run_id="experts", config={"max_steps": 100}, telemetry_secs=0) as run:
        for step in range(101):
            values = {"train/loss": 5.0 * 0.98**step, "moe/z_loss": 0.001, "moe/expert_utilization": 0.4}
            run.log(values, step=step)
    with pb.init(dir=directory, run_id="plain", telemetry_secs=0) as run:
        for step in range(10):
            run.log({"a": 1.0}, step=step)


def test_a_run_is_shown_with_the_verdicts_of_its_guide(pages, tmp_path):
    write_experts(tmp_path / "runs")
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = pages.open(server, "#guide&run=experts", wait="section[aria-label=Metrics]")
        metrics = page.get_by_role("region", name="Metrics").inner_text()
        assert "moe/expert_utilization" in metrics
        assert "Warning sign" in metrics
        assert "Experts are unused" in page.get_by_role("region", name="Patterns").inner_text()
        assert "every" in page.get_by_role("region", name="How often things are logged").inner_text()

        page.get_by_label("Run", exact=True).select_option("plain")
        page.get_by_text("No guide fits run 'plain'.").wait_for()
        page.get_by_label("Guide", exact=True).select_option("hjepa")
        page.get_by_role("region", name="Where to look").wait_for()
