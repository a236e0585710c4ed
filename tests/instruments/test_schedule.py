"""The schedule: cadences, the budget that stretches them, and instruments that fail."""

import pytest

from pulseboard.instruments.schedule import Schedule, parse_overhead
from pulseboard.record import report


class Time:
    """A clock that only moves when told."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def play(schedule, clock, *, steps, step_secs, costs):
    """Steps of a known length with instruments of known costs; at which steps each ran."""
    ran = {id: [] for id in costs}
    for step in range(steps):
        for id, cost in costs.items():
            if schedule.due(id, step):
                with schedule.running(id, step):
                    clock.now += cost
                ran[id].append(step)
        clock.now += step_secs
        schedule.stepped()
    return ran


def test_an_instrument_runs_at_its_cadence():
    clock = Time()
    schedule = Schedule(budget=None, clock=clock)
    schedule.add("often", every=1)
    schedule.add("seldom", every=100)
    schedule.add("never", every=0)
    ran = play(schedule, clock, steps=250, step_secs=1.0, costs={"often": 0.0, "seldom": 0.0, "never": 0.0})
    assert ran == {"often": list(range(250)), "seldom": [0, 100, 200], "never": []}


def test_what_fits_the_budget_keeps_its_cadence():
    clock = Time()
    schedule = Schedule(budget=0.01, clock=clock)
    schedule.add("cheap", every=10)
    ran = play(schedule, clock, steps=100, step_secs=1.0, costs={"cheap": 0.05})  # half a per cent
    assert ran["cheap"] == list(range(0, 100, 10))


def test_what_does_not_fit_is_stretched_until_it_does_and_the_cheap_are_left_alone():
    clock = Time()
    schedule = Schedule(budget=0.01, clock=clock)
    schedule.add("cheap", every=1)
    schedule.add("dear", every=10)
    play(schedule, clock, steps=100, step_secs=1.0, costs={"cheap": 0.001, "dear": 2.0})
    schedule.overhead()
    assert schedule.every("cheap") == 1
    assert schedule.every("dear") > 200
    play(schedule, clock, steps=5000, step_secs=1.0, costs={"cheap": 0.001, "dear": 2.0})
    assert schedule.overhead() == pytest.approx(0.01, rel=0.15)


def test_the_first_steps_have_a_cadence_of_their_own():
    for budget in (None, 0.5):
        clock = Time()
        schedule = Schedule(budget=budget, early_steps=50, clock=clock)
        schedule.add("seldom", every=100, early_every=10)
        schedule.add("often", every=5, early_every=10)
        schedule.add("never", every=0, early_every=10)
        ran = play(schedule, clock, steps=300, step_secs=1.0, costs={"seldom": 0.0, "often": 0.0, "never": 0.0})
        assert ran["often"] == list(range(0, 300, 5))
        assert ran["never"] == []
        assert ran["seldom"][:5] == [0, 10, 20, 30, 40]
        assert len(ran["seldom"]) in (7, 8)


def test_the_budget_holds_at_first_too():
    clock = Time()
    schedule = Schedule(budget=0.01, early_steps=10_000, clock=clock)
    schedule.add("dear", every=100, early_every=10)
    play(schedule, clock, steps=200, step_secs=1.0, costs={"dear": 2.0})
    assert schedule.every("dear") == 200


def test_a_run_in_pieces_is_one_run_and_costs_their_sum():
    clock = Time()
    schedule = Schedule(budget=0.01, clock=clock)
    schedule.add("pieces", every=1)
    for step in range(500):
        if schedule.due("pieces", step):
            with schedule.running("pieces", step, done=False):
                clock.now += 1.5
            assert schedule.due("pieces", step)
            with schedule.running("pieces", step):
                clock.now += 0.5
        clock.now += 1.0
        schedule.stepped()
    assert schedule.every("pieces") == 200


def test_a_cadence_comes_back_when_steps_grow_longer():
    clock = Time()
    schedule = Schedule(budget=0.01, clock=clock)
    schedule.add("dear", every=10)
    play(schedule, clock, steps=300, step_secs=0.1, costs={"dear": 0.5})
    assert schedule.every("dear") > 10
    play(schedule, clock, steps=300, step_secs=100.0, costs={"dear": 0.5})
    assert schedule.every("dear") == 10


def test_the_real_cost_is_reported():
    clock = Time()
    schedule = Schedule(budget=None, clock=clock)
    schedule.add("x", every=1)
    play(schedule, clock, steps=101, step_secs=0.9, costs={"x": 0.1})
    assert schedule.overhead() == pytest.approx(0.1)
    assert schedule.overhead() == 0.0


def test_an_instrument_that_raises_is_ended_with_one_message_and_alone(capsys):
    report.forget()
    schedule = Schedule(budget=None)
    schedule.add("bad", every=1)
    schedule.add("good", every=1)
    for step in range(3):
        if schedule.due("bad", step):
            with schedule.running("bad", step):
                raise RuntimeError("boom")
        assert schedule.due("good", step)
    told = capsys.readouterr().err
    assert told.count("The instrument bad stopped at step 0: RuntimeError: boom") == 1
    assert not schedule.due("bad", 3)


@pytest.mark.parametrize(
    ("text", "share"), [("1%", 0.01), ("0.5 %", 0.005), (0.02, 0.02), ("0.03", 0.03), (None, None)]
)
def test_a_budget_may_be_written_as_people_write_it(text, share):
    assert parse_overhead(text) == (pytest.approx(share) if share else None)


@pytest.mark.parametrize("text", ["lots", 0, -1, "200%"])
def test_a_budget_that_is_none_is_refused(text):
    with pytest.raises(ValueError, match="overhead is a share"):
        parse_overhead(text)
