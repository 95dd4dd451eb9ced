"""One server for all tests that only ask it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def server() -> Iterator:  # of `serving.Running`; httpx may be missing here
    from serving import serving

    options = ["--workers", "2", "--snippet-kb", "6000", "--request-mb", "12", "--timeout", "5"]
    with serving(*options) as running:
        yield running
