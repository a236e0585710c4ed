'''routes: the endpoints of the HTTP API.

To add an endpoint, add a file here. Nothing else changes: the file is found, its requests are validated, it appears in
the OpenAPI document, and the tests in tests/serve/test_document.py check it. `make types` updates the page's types.

    """How many runs there are."""

    from typing import Any

    from pulseboard.serve.http import schema
    from pulseboard.serve.http.endpoint import ApiRequest, endpoint
    from pulseboard.serve.live.dashboard import Dashboard


    @endpoint(
        "GET",
        "run_count",
        "The number of runs.",
        returns=schema.named_record("RunCount", {"runs": schema.integer()}),
    )
    def run_count(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
        return {"runs": len(dashboard.runs)}
'''
