"""Workers that cost little beside the way there and back, with the contracts of GRPO, and with none to speak of."""

from __future__ import annotations

from typing import Any

from batchpact.contracts import stage
from batchpact.dataproto import DataProto
from batchpact.schemas.rl.grpo import ComputeOldLogProb, ComputeRefLogProb, UpdateActor


def _log_probs(data: DataProto) -> Any:
    assert data.batch is not None
    return data.batch["responses"].float().neg()


class Projected:
    """Each stage gets what it declares."""

    @stage(ComputeOldLogProb)
    def compute_old_log_prob(self, data: DataProto) -> DataProto:
        return DataProto.from_dict({"old_log_probs": _log_probs(data)})

    @stage(ComputeRefLogProb)
    def compute_ref_log_prob(self, data: DataProto) -> DataProto:
        return DataProto.from_dict({"ref_log_prob": _log_probs(data)})

    @stage(UpdateActor)
    def update_actor(self, data: DataProto) -> DataProto:
        assert data.batch is not None
        return DataProto.from_dict({}, {}, {"metrics": {"actor/pg_loss": float(data.batch["advantages"][0, 0])}})


class Whole:
    """Each stage gets the whole batch."""

    @stage(ComputeOldLogProb, project="off")
    def compute_old_log_prob(self, data: DataProto) -> DataProto:
        return DataProto.from_dict({"old_log_probs": _log_probs(data)})

    @stage(ComputeRefLogProb, project="off")
    def compute_ref_log_prob(self, data: DataProto) -> DataProto:
        return DataProto.from_dict({"ref_log_prob": _log_probs(data)})

    @stage(UpdateActor, project="off")
    def update_actor(self, data: DataProto) -> DataProto:
        assert data.batch is not None
        return DataProto.from_dict({}, {}, {"metrics": {"actor/pg_loss": float(data.batch["advantages"][0, 0])}})
