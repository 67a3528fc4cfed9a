"""The stages of verl's newer trainer (`verl.trainer.ppo.v1.trainer_base`): jagged tensors in TransferQueue.

In their order: `rollout.py`, `reward.py`, `engines.py`, `advantages.py`, `updates.py`. The driver holds keys and tags;
where it fetches columns, works on them as a dense batch of its own and puts some back, there is a schema for what it
fetches and one for what it puts. Position ids are those of text. A vision model has four rows of them; verl asks the
model's processor which it is, and no configuration, so a team with such a model inherits from the stages that read
them and declares `position_ids: fields.jagged.MultiAxisPositionIds`. `batchpact.contracts.rl` has the pipelines.
"""
