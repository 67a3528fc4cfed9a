"""Gathering, side by side with verl's: the same on dense tensors and columns, where every rank has as many rows."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.dataproto.ranks import run_ranks

pytestmark = [pytest.mark.peers, pytest.mark.slow]


@pytest.mark.skipif(find_spec("verl") is None, reason="verl is not installed")
def test_two_ranks_gather_the_same(tmp_path_factory: pytest.TempPathFactory) -> None:
    for outcomes in run_ranks("tests.dataproto.verl_gathering_scenarios", 2, tmp_path_factory.mktemp("ranks")):
        for theirs, ours in outcomes.values():
            assert ours == theirs
            assert "batch f32" in ours and "column dicts" in ours and "meta k" in ours
