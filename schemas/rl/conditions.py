"""What verl's configuration switches in a step of training, under the keys that verl 0.9.1 has for it."""

from __future__ import annotations

from batchpact.schemas.conditions import config, meta, step

ESTIMATOR = config("algorithm.adv_estimator", default="gae")

GROUP_RELATIVE = (
    "grpo",
    "grpo_vectorized",
    "grpo_passk",
    "rloo",
    "rloo_vectorized",
    "reinforce_plus_plus_baseline",
    "opo",
    "gpg",
)
"""The estimators that compare a response with its group, and read nothing but rewards, mask and group."""

OPTIMAL_TOKEN_BASELINES = ("optimal_token_baseline", "tir_optimal_token_baseline")

_CRITIC = config("critic.enable")
USE_CRITIC = (_CRITIC | (_CRITIC.is_none() & (ESTIMATOR == "gae"))).named("use_critic")

KL_IN_REWARD = config("algorithm.use_kl_in_reward")
KL_IN_LOSS = config("actor_rollout_ref.actor.use_kl_loss")
USE_REFERENCE = (KL_IN_REWARD | KL_IN_LOSS).named("use_reference")

REWARD_MODEL = config("reward.reward_model.enable")
OWN_POOL = config("reward.reward_model.enable_resource_pool")
COLOCATED = (REWARD_MODEL & ~OWN_POOL).named("colocated_reward_model")
"""A reward model on the GPUs of the actor: it scores the whole batch after the rollout, others each row within it."""
BY_FUNCTION = (~REWARD_MODEL | ~config("reward.custom_reward_function.path").is_none()).named("reward_by_function")
"""A function gives the reward; a generative reward model is asked by one, too."""

SAMPLING_LOG_PROBS = config("actor_rollout_ref.rollout.calculate_log_probs", default=True)
BYPASS = config("algorithm.rollout_correction.bypass_mode")
CORRECTION = (~config("algorithm.rollout_correction").is_none() & SAMPLING_LOG_PROBS & ~BYPASS).named(
    "rollout_correction"
)
IS_WEIGHTS = (CORRECTION & ~config("algorithm.rollout_correction.rollout_is").is_none()).named("rollout_is_weights")

SUM_PI_SQUARED = config("actor_rollout_ref.actor.calculate_sum_pi_squared")
PF_PPO = (config("algorithm.use_pf_ppo") & (ESTIMATOR == "gae")).named("pf_ppo")
BALANCE = config("trainer.balance_batch", default=True)
DISTILLATION = config("distillation.enabled")
ROUTING_REPLAY = config("actor_rollout_ref.rollout.enable_rollout_routing_replay")
FILTER_GROUPS = config("algorithm.filter_groups.enable")
BY_REWARD = config("algorithm.filter_groups.metric") == "reward"
VALIDATE = meta("validate")

WARMED_UP = (config("trainer.critic_warmup", default=0) <= step("global_steps")).named("critic_warmed_up")
"""The first steps of a run may be the critic's alone: the actor is updated after them."""

_MODEL = "actor_rollout_ref.model"
REF_IN_ACTOR = (
    (config(f"{_MODEL}.lora.rank", default=0) > 0)
    | (config(f"{_MODEL}.lora_rank", default=0) > 0)
    | ~config(f"{_MODEL}.lora_adapter_path").is_none()
).named("ref_in_actor")
"""With LoRA the reference is the actor without its adapter, and there is no other model for it."""

REWARD_FIGURES = meta("reward_extra_keys", default=[])
"""Where the names of the columns stand that a reward function adds. A batch without them has none."""
GDPO_PARTS = config("algorithm.gdpo_reward_keys")

CORRECTION_IS_THERE = ~BYPASS | ~config("algorithm.rollout_correction").is_none()
"""The parts of a configuration are not there without it."""
LOG_PROBS_FOR_BYPASS = ~BYPASS | SAMPLING_LOG_PROBS
"""`apply_bypass_mode` of the older trainer refuses anything else."""
SUM_FOR_TOKEN_BASELINES = ~ESTIMATOR.isin(OPTIMAL_TOKEN_BASELINES) | SUM_PI_SQUARED
"""`compute_advantage` refuses anything else."""
SCORED_BEFORE_FILTERING = ~FILTER_GROUPS | ~COLOCATED
"""`PPOTrainer` of the newer trainer refuses anything else."""
