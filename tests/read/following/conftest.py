import pytest


@pytest.fixture(params=["poll", "refresh"])
def catch_up(request):
    """Brings runs up to date, in either of the two ways."""
    return lambda runs: getattr(runs, request.param)()
