"""The stages of verl's older trainer (`verl.trainer.ppo.ray_trainer`): dense tensors in a `DataProto`.

In their order: `rollout.py`, `reward.py`, `log_probs.py`, `advantages.py`, `updates.py`. Each says what the code of
verl 0.9.1 reads and writes; statements of the driver between two calls are stages, too. `batchpact.contracts.rl` has
the pipelines.
"""
