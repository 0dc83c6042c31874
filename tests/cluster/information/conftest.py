"""Small products throughout: BLAS is limited once, and not by every call."""

import pytest

from modicum.numeric.parallel import single_threaded_blas


@pytest.fixture(autouse=True)
def _single_threaded_blas():
    with single_threaded_blas():
        yield
