"""PPO and GRPO as verl 0.9.1 runs them: pipelines over the stages of `batchpact.schemas.rl`, to check and not to run.

`dense.py` has the older trainer, `queue.py` the newer one. A team with a trainer of its own takes the parts that are
alike. What `check()` finds in them are faults of the real trainers; `tests/contracts/rl` lists them.
"""

from batchpact.contracts.rl.dense import grpo, ppo, validation
from batchpact.contracts.rl.queue import queue_advantage, queue_grpo, queue_ppo, queue_reward, queue_validation

__all__ = [
    "grpo",
    "ppo",
    "queue_advantage",
    "queue_grpo",
    "queue_ppo",
    "queue_reward",
    "queue_validation",
    "validation",
]
