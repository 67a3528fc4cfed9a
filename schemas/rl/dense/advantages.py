"""Advantages: every estimator that verl's `core_algos` registers, and the resampling of PF-PPO.

`ESTIMATORS` has them by the name under `algorithm.adv_estimator`. Each schema says what its function reads.
"""

from __future__ import annotations

from typing import Annotated

from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.columns import Columns, named_by
from batchpact.schemas.markers import When
from batchpact.schemas.rl import fields as f
from batchpact.schemas.rl.conditions import GDPO_PARTS, IS_WEIGHTS
from batchpact.schemas.stage import StageSchema


class RewardReads(BatchSchema):
    """What every estimator reads."""

    token_level_rewards: f.TokenLevelRewards
    response_mask: f.ResponseMask


class GroupReads(RewardReads):
    """What an estimator reads that compares a response with the others to its prompt."""

    uid: f.Uid


class EstimatorWrites(BatchSchema):
    """What every estimator writes."""

    advantages: f.Advantages
    returns: f.Returns


class GroupEstimator(StageSchema):
    """Compare the reward of each response with the others of its group: the contract of all who do no more."""

    class Reads(GroupReads):
        pass

    class Writes(EstimatorWrites):
        pass


class Gae(StageSchema):
    """Weigh rewards against the critic's values (Schulman et al. 2015, arXiv:1506.02438), whitened over the batch.

    The advantages are not 0 outside the mask; whoever sums them has to mask them.
    """

    class Reads(RewardReads):
        values: f.Values
        gamma: f.Gamma = 1.0
        lam: f.Lam = 1.0

    class Writes(EstimatorWrites):
        pass


class Grpo(StageSchema):
    """Normalise the reward of a response within its group (Shao et al. 2024, arXiv:2402.03300)."""

    class Reads(GroupReads):
        norm_adv_by_std_in_grpo: f.NormAdvByStd = True

    class Writes(EstimatorWrites):
        pass


class GrpoVectorized(StageSchema):
    """GRPO without a loop over rows."""

    class Reads(GroupReads):
        norm_adv_by_std_in_grpo: f.NormAdvByStd = True

    class Writes(EstimatorWrites):
        pass


class GrpoPassk(StageSchema):
    """Reward the best response of a group by its lead over the second (arXiv:2503.19595)."""

    class Reads(GroupReads):
        norm_adv_by_std_in_grpo: f.NormAdvByStd = True

    class Writes(EstimatorWrites):
        pass


class Rloo(StageSchema):
    """Compare a response with the mean of the others (Ahmadian et al. 2024, arXiv:2402.14740)."""

    class Reads(GroupReads):
        pass

    class Writes(EstimatorWrites):
        pass


class RlooVectorized(StageSchema):
    """RLOO without a loop over rows."""

    class Reads(GroupReads):
        pass

    class Writes(EstimatorWrites):
        pass


class ReinforcePlusPlusBaseline(StageSchema):
    """Subtract the mean of the group and whiten over the batch (Hu et al. 2025, arXiv:2501.03262)."""

    class Reads(GroupReads):
        pass

    class Writes(EstimatorWrites):
        pass


class Opo(StageSchema):
    """Subtract the group's mean reward, weighed by lengths (Hao et al. 2025, arXiv:2505.23585)."""

    class Reads(GroupReads):
        pass

    class Writes(EstimatorWrites):
        pass


class Gpg(StageSchema):
    """Subtract the mean of the group and scale by the share of rewards that are not 0."""

    class Reads(GroupReads):
        pass

    class Writes(EstimatorWrites):
        pass


class Gdpo(StageSchema):
    """Normalise every part of a reward within the group before they are summed (arXiv:2601.05242).

    The parts are figures of the reward function. The rewards that were summed already give nothing but the device, so a
    KL penalty in them has no effect.
    """

    class Reads(GroupReads):
        prompts: f.Prompts
        attention_mask: f.AttentionMask
        parts: Columns[f.RewardPart] = named_by(GDPO_PARTS)
        gdpo_reward_keys: f.GdpoRewardKeys
        gdpo_reward_weights: f.GdpoRewardWeights | None = None
        norm_adv_by_std_in_grpo: f.NormAdvByStd = True

    class Writes(EstimatorWrites):
        pass


class ReinforcePlusPlus(StageSchema):
    """Discount the rewards to come and whiten over the batch (Hu et al. 2025, arXiv:2501.03262)."""

    class Reads(RewardReads):
        gamma: f.Gamma = 1.0

    class Writes(EstimatorWrites):
        pass


class Remax(StageSchema):
    """Subtract the reward of the greedy answer (Li et al. 2023, arXiv:2310.10505)."""

    class Reads(RewardReads):
        reward_baselines: f.RewardBaselines

    class Writes(EstimatorWrites):
        pass


class TokenBaselineReads(GroupReads):
    """What a baseline for each token reads: how much each token says, which the whole distribution tells."""

    old_log_probs: f.OldLogProbs
    sum_pi_squared: f.SumPiSquared
    rollout_is_weights: Annotated[f.RolloutIsWeights, When(IS_WEIGHTS)]


class OptimalTokenBaseline(StageSchema):
    """Subtract the baseline of least variance at each token, over the texts of a group so far."""

    class Reads(TokenBaselineReads):
        pass

    class Writes(EstimatorWrites):
        pass


class TirOptimalTokenBaseline(StageSchema):
    """The optimal token baseline for several turns: what tools answered is left out of the count."""

    class Reads(TokenBaselineReads):
        pass

    class Writes(EstimatorWrites):
        pass


ESTIMATORS: dict[str, type[StageSchema]] = {
    "gae": Gae,
    "gdpo": Gdpo,
    "gpg": Gpg,
    "grpo": Grpo,
    "grpo_passk": GrpoPassk,
    "grpo_vectorized": GrpoVectorized,
    "opo": Opo,
    "optimal_token_baseline": OptimalTokenBaseline,
    "reinforce_plus_plus": ReinforcePlusPlus,
    "reinforce_plus_plus_baseline": ReinforcePlusPlusBaseline,
    "remax": Remax,
    "rloo": Rloo,
    "rloo_vectorized": RlooVectorized,
    "tir_optimal_token_baseline": TirOptimalTokenBaseline,
}
"""The contract of each estimator, by its name in the configuration."""


class ResamplePfPpo(StageSchema):
    """Draw rows anew with odds that follow from their scores, some several times and some not (arXiv:2409.06957)."""

    rows = "select"

    class Reads(BatchSchema):
        token_level_scores: f.TokenLevelScores
        reweight_method: f.ReweightMethod = "pow"
        weight_pow: f.WeightPow = 2.0
