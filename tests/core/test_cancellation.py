"""Stopping work from another thread."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from pulseboard.core.cancellation import Cancelled, Token, checkpoint, in_this_context


def test_a_checkpoint_stops_only_cancelled_work():
    checkpoint()  # there is no token here
    token = Token()
    assert token.run(lambda: checkpoint() or "done") == "done"
    token.cancel()
    with pytest.raises(Cancelled):
        token.run(lambda: "never")
    checkpoint()


def test_work_handed_to_another_thread_obeys_the_same_token():
    token = Token()

    def work():
        with ThreadPoolExecutor(1) as other:
            handed_over = in_this_context(checkpoint)
            token.cancel()
            return other.submit(handed_over).result()

    with pytest.raises(Cancelled):
        token.run(work)
