"""The schedule: cadences, the budget that stretches them, and measurements that fail."""

import pytest

from pulseboard.instruments.watch.processor_wait import ProcessorWait
from pulseboard.instruments.watch.schedule import Schedule, parse_overhead
from pulseboard.record import messages


class ScriptedClock:
    """A clock that moves only when the test moves it."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def play(schedule, clock, *, steps, step_secs, costs):
    """Play steps of a known length with measurements of known cost; return the steps at which each ran."""
    ran = {id: [] for id in costs}
    for step in range(steps):
        for id, cost in costs.items():
            if schedule.due(id, step):
                with schedule.running(id, step):
                    clock.now += cost
                ran[id].append(step)
        clock.now += step_secs
        schedule.step_ended()
    return ran


def test_a_measurement_runs_at_its_cadence():
    clock = ScriptedClock()
    schedule = Schedule(budget=None, clock=clock)
    schedule.add("often", every=1)
    schedule.add("rare", every=100)
    schedule.add("never", every=0)
    ran = play(schedule, clock, steps=250, step_secs=1.0, costs={"often": 0.0, "rare": 0.0, "never": 0.0})
    assert ran == {"often": list(range(250)), "rare": [0, 100, 200], "never": []}


def test_a_measurement_within_the_budget_keeps_its_cadence():
    clock = ScriptedClock()
    schedule = Schedule(budget=0.01, clock=clock)
    schedule.add("cheap", every=10)
    ran = play(schedule, clock, steps=100, step_secs=1.0, costs={"cheap": 0.05})  # 0.5 %
    assert ran["cheap"] == list(range(0, 100, 10))


def test_expensive_measurements_are_stretched_to_fit_and_cheap_ones_are_not():
    clock = ScriptedClock()
    schedule = Schedule(budget=0.01, clock=clock)
    schedule.add("cheap", every=1)
    schedule.add("expensive", every=10)
    play(schedule, clock, steps=100, step_secs=1.0, costs={"cheap": 0.001, "expensive": 2.0})
    schedule.overhead()
    assert schedule.every("cheap") == 1
    assert schedule.every("expensive") > 200
    play(schedule, clock, steps=5000, step_secs=1.0, costs={"cheap": 0.001, "expensive": 2.0})
    assert schedule.overhead() == pytest.approx(0.01, rel=0.15)


def test_other_programs_on_a_busy_machine_do_not_make_measurements_cheaper():
    every = []
    for waiting_secs in (0.0, 9.0):  # of each step; measurements are too short to be interrupted
        clock, waited = ScriptedClock(), ScriptedClock()
        schedule = Schedule(budget=0.01, clock=clock, waited=waited)
        schedule.add("norm", every=1)
        for step in range(300):
            if schedule.due("norm", step):
                with schedule.running("norm", step):
                    clock.now += 0.095
            clock.now += 1.0 + waiting_secs
            waited.now += waiting_secs
            schedule.step_ended()
        every.append(schedule.every("norm"))
        schedule.overhead()
    assert every == [10, 10]


def test_a_measurement_that_is_interrupted_does_not_look_expensive():
    clock, waited = ScriptedClock(), ScriptedClock()
    schedule = Schedule(budget=0.01, clock=clock, waited=waited)
    schedule.add("norm", every=1)

    def interrupted():
        clock.now, waited.now = clock.now + 5.0, waited.now + 5.0

    hook = schedule.timed(interrupted)
    for step in range(100):
        with schedule.running("norm", step):
            hook()
        clock.now += 1.0
        schedule.step_ended()
    assert schedule.every("norm") == 1


def test_the_time_that_a_thread_waits_for_a_processor_is_read_from_the_system(tmp_path):
    file = tmp_path / "schedstat"
    file.write_text("7000000000 2500000000 12\n")
    waited = ProcessorWait(str(file))
    assert waited() == 2.5
    file.write_text("7000000000 3500000000 13\n")
    assert waited() == 3.5
    file.write_text("")
    assert waited() == waited() == 0.0
    assert ProcessorWait(str(tmp_path / "none"))() == 0.0
    assert ProcessorWait()() >= 0.0


def test_the_first_steps_have_their_own_cadence():
    for budget in (None, 0.5):
        clock = ScriptedClock()
        schedule = Schedule(budget=budget, early_steps=50, clock=clock)
        schedule.add("rare", every=100, early_every=10)
        schedule.add("often", every=5, early_every=10)
        schedule.add("never", every=0, early_every=10)
        ran = play(schedule, clock, steps=300, step_secs=1.0, costs={"rare": 0.0, "often": 0.0, "never": 0.0})
        assert ran["often"] == list(range(0, 300, 5))
        assert ran["never"] == []
        assert ran["rare"][:5] == [0, 10, 20, 30, 40]
        assert len(ran["rare"]) in (7, 8)


def test_the_budget_also_holds_during_the_first_steps():
    clock = ScriptedClock()
    schedule = Schedule(budget=0.01, early_steps=10_000, clock=clock)
    schedule.add("expensive", every=100, early_every=10)
    play(schedule, clock, steps=200, step_secs=1.0, costs={"expensive": 2.0})
    assert schedule.every("expensive") == 200


def test_a_measurement_in_pieces_is_one_run_and_costs_their_sum():
    clock = ScriptedClock()
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
        schedule.step_ended()
    assert schedule.every("pieces") == 200


def test_a_cadence_recovers_when_steps_take_longer():
    clock = ScriptedClock()
    schedule = Schedule(budget=0.01, clock=clock)
    schedule.add("expensive", every=10)
    play(schedule, clock, steps=300, step_secs=0.1, costs={"expensive": 0.5})
    assert schedule.every("expensive") > 10
    play(schedule, clock, steps=300, step_secs=100.0, costs={"expensive": 0.5})
    assert schedule.every("expensive") == 10


def test_the_time_of_hooks_counts_and_leaves_a_quarter_to_measurements():
    for hook_secs, room_secs in ((0.004, 0.006), (0.5, 0.0025)):
        clock = ScriptedClock()
        schedule = Schedule(budget=0.01, clock=clock)
        schedule.add("norm", every=1)
        measured = 0

        def hook(step, schedule=schedule, clock=clock, hook_secs=hook_secs):
            nonlocal measured
            clock.now += hook_secs
            if schedule.due("norm", step):
                with schedule.running("norm", step):
                    clock.now += 0.06
                measured += 1
            schedule.step_ended()

        timed = schedule.timed(hook)
        for step in range(1000):
            clock.now += 1.0
            timed(step)
        assert schedule.every("norm") == pytest.approx(0.06 / room_secs, abs=1)
        assert schedule.overhead() == pytest.approx((1000 * hook_secs + measured * 0.06) / clock.now, rel=0.01)


def test_the_measured_cost_is_reported():
    clock = ScriptedClock()
    schedule = Schedule(budget=None, clock=clock)
    schedule.add("x", every=1)
    play(schedule, clock, steps=101, step_secs=0.9, costs={"x": 0.1})
    assert schedule.overhead() == pytest.approx(0.1)
    assert schedule.overhead() == 0.0


def test_a_measurement_that_raises_is_stopped_with_one_message(capsys):
    messages.reset()
    schedule = Schedule(budget=None)
    schedule.add("bad", every=1)
    schedule.add("good", every=1)
    for step in range(3):
        if schedule.due("bad", step):
            with schedule.running("bad", step):
                raise RuntimeError("boom")
        assert schedule.due("good", step)
    assert capsys.readouterr().err.count("The instrument bad stopped at step 0: RuntimeError: boom") == 1
    assert not schedule.due("bad", 3)


@pytest.mark.parametrize(
    ("text", "share"), [("1%", 0.01), ("0.5 %", 0.005), (0.02, 0.02), ("0.03", 0.03), (None, None)]
)
def test_an_overhead_may_be_a_percentage_or_a_share(text, share):
    assert parse_overhead(text) == (pytest.approx(share) if share else None)


@pytest.mark.parametrize("text", ["lots", 0, -1, "200%"])
def test_an_invalid_overhead_is_refused(text):
    with pytest.raises(ValueError, match="overhead must be a share"):
        parse_overhead(text)


def test_a_step_is_idle_exactly_if_nothing_is_due():
    clock = ScriptedClock()
    schedule = Schedule(budget=0.01, early_steps=20, clock=clock)
    costs = {"cheap": 0.001, "expensive": 0.5, "never": 0.0}
    schedule.add("cheap", every=3)
    schedule.add("expensive", every=10, early_every=2)
    schedule.add("never", every=0)
    idle = []
    for step in [*range(200), *range(150, 300)]:  # the loop goes back once
        due = [id for id in costs if schedule.due(id, step)]
        assert schedule.idle(step) == (not due)
        idle.append(not due)
        for id in due:
            with schedule.running(id, step):
                clock.now += costs[id]
        clock.now += 1.0
        schedule.step_ended()
    assert 0.5 < sum(idle) / len(idle) < 0.9
