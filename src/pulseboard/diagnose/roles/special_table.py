"""The roles that only some kinds of training have: self-supervised, diffusion, experts, policies, ranks, probes."""

from __future__ import annotations

from pulseboard.diagnose.roles.role import Role, matches
from pulseboard.diagnose.roles.shape import a_share, not_a_counter
from pulseboard.diagnose.roles.words import Words
from pulseboard.diagnose.track import Change

# Words that make a number one about rewards, and not the return of an episode.
_ABOUT_REWARDS = frozenset(
    "std min max best new early final margin margins chosen rejected accuracies shape shaping loss zero frac fn bonus"
    " scale norm weight intrinsic model".split()
)


def is_return(words: Words) -> bool:
    """`rollout/ep_rew_mean`, `episode_return`, `Environment/Cumulative Reward`, `AverageEpRet`."""
    earned = {"rew", "reward", "rewards", "return", "returns"}
    every = set(words.every)
    named = bool(earned & every) or bool(every & {"ret", "rets"} and every & {"ep", "eps", "episode"})
    return named and not words.rest & _ABOUT_REWARDS


SPECIAL_ROLES: tuple[Role, ...] = (
    Role(
        "collapse.std",
        "mean standard deviation of the features per dimension",
        "watch.measure(collapse, features, level=0)",
        matches(r"\bmean std per dim\b|\b(features?|embeddings?|representations?|latents?|z|repr) std\b|\bstd z\b"),
        many=True,
    ),
    Role(
        "collapse.min_std",
        "standard deviation of the features in their narrowest dimension",
        "watch.measure(collapse, features, level=0)",
        matches(r"\bmin std per dim\b"),
        many=True,
    ),
    Role(
        "collapse.rank",
        "number of directions in which features vary",
        "watch.measure(collapse, features, level=0)",
        matches(r"\beffective rank\b|\brankme\b|\brank me\b"),
        many=True,
    ),
    Role(
        "collapse.similarity",
        "mean cosine of two features",
        "watch.measure(collapse, features, level=0)",
        matches(r"\b(?<!std )(?<!max )mean similarity\b|\bpairwise (cosine|similarity)\b"),
        many=True,
    ),
    Role(
        "target.variance",
        "variance of the targets that are predicted",
        'run.log({"train/target_variance": target.var()}, step=step)',
        matches(r"\btarget (var|variance)\b"),
    ),
    Role(
        "loss.relative",
        "the loss divided by the variance of its targets",
        'run.log({"train/relative_loss": loss / target.var()}, step=step)',
        matches(r"\brelative loss\b|\bloss over (var|variance)\b|\bloss relative\b"),
    ),
    Role(
        "ema.momentum",
        "momentum of the target network's average",
        "watch.measure(ema, model, target)",
        matches(r"\bema momentum( current)?$|\bmomentum current\b|\bema decay\b"),
    ),
    Role(
        "ema.distance",
        "how far the target network is from the trained one",
        "watch.measure(ema, model, target)",
        matches(r"\b(avg )?parameter divergence\b|\bema distance\b"),
    ),
    Role(
        "ema.ratio",
        "norm of the target network relative to the trained one",
        "watch.measure(ema, model, target)",
        matches(r"\bweight magnitude ratio\b"),
    ),
    Role(
        "mask.ratio",
        "share of the patches that are masked",
        "watch.measure(masking, mask)",
        matches(r"\bmask ratio\b"),
        changes=(Change(), Change(sign=-1)),
    ),
    Role(
        "prediction.cosine",
        "mean cosine of prediction and target",
        "watch.measure(prediction, predicted, target, level=0)",
        matches(r"\bcosine sim mean\b"),
        many=True,
    ),
    Role(
        "prediction.cosine_std",
        "spread of the cosines of prediction and target",
        "watch.measure(prediction, predicted, target, level=0)",
        matches(r"\bcosine sim std\b"),
        many=True,
    ),
    Role(
        "loss.contribution",
        "a level's percentage of the whole loss",
        "watch.measure(hierarchical_loss, losses, weights)",
        matches(r"\bcontribution h?\d+\b"),
        many=True,
    ),
    Role("loss.levels", "a level's own loss", "", matches(r"\bloss h\d+\b|\bloss level ?\d+\b"), many=True),
    Role(
        "gradient.target",
        "gradients that reach the target network",
        "pb.watch(model, optimizer)",
        matches(r"\btarget encoder (mean|max|norm)\b"),
        many=True,
    ),
    # ---- diffusion
    Role(
        "loss.quantiles",
        "the validation loss of one band of noise levels",
        "watch.measure(loss_by_noise, losses, timesteps, name='val')",
        matches(r"\bloss quantile \d"),
        many=True,
    ),
    # ---- mixture of experts
    Role(
        "moe.aux_loss",
        "the load-balancing loss",
        "logger.log_moe_stats(...)",
        matches(r"\b(moe|router|load balanc\w*) aux loss\b|^aux loss$|\bmoe aux loss\b"),
    ),
    Role(
        "moe.z_loss",
        "the loss that keeps router logits small",
        "logger.log_moe_stats(...)",
        matches(r"\bz loss\b"),
        changes=(Change(log=True),),
    ),
    Role(
        "moe.utilization",
        "share of the experts that get tokens",
        "logger.log_moe_stats(...)",
        matches(r"\bexpert utili[sz]ation\b"),
    ),
    Role(
        "moe.imbalance",
        "tokens of the busiest expert relative to the average",
        "logger.log_moe_stats(...)",
        matches(r"\bload imbalance\b|\bmax ?vio\b"),
        many=True,
    ),
    Role(
        "moe.entropy",
        "entropy of the router's choice",
        'run.log({"moe/router_entropy": entropy}, step=step)',
        matches(r"\brouter entropy\b"),
        many=True,
    ),
    Role(
        "moe.dropped",
        "share of tokens dropped because an expert was full",
        'run.log({"moe/drop_rate": dropped / tokens}, step=step)',
        matches(r"\b(drop|dropped|overflow) (rate|share|fraction|tokens)\b|\btokens dropped\b"),
    ),
    Role(
        "moe.dead",
        "experts that get less than a tenth of their share",
        'run.log({"moe/dead_experts": dead}, step=step)',
        matches(r"\bdead experts\b"),
        many=True,
    ),
    # ---- reinforcement learning
    Role(
        "rl.return",
        "the return of an episode",
        'run.log({"rollout/return": episode_return}, step=step)',
        is_return,
        not_a_counter,
        many=True,
    ),
    Role(
        "rl.kl",
        "how far an update moved the policy",
        "",
        matches(r"\bapprox kl\b|\bkl approx\b|\bpolicy kl\b"),
        many=True,
    ),
    Role(
        "rl.entropy",
        "entropy of the policy",
        "",
        matches(
            r"\bpolicy entropy\b|\bentropy loss\b|\bloss entropy\b"
            r"|^((train|training|charts|rollout) )?(mean )?entropy( train| training)?$"
        ),
        many=True,
    ),
    Role(
        "rl.clipped",
        "share of the actions whose update was clipped",
        "",
        matches(r"\bclip ?frac(tion)?\b"),
        a_share,
        many=True,
    ),
    Role(
        "rl.explained",
        "how much of the returns' variance the critic explains",
        "",
        matches(r"\bexplained (var|variance)\b"),
        many=True,
    ),
    Role(
        "rl.value",
        "the return that the critic expects",
        "",
        matches(r"\bq(f?\d)? ?(val|vals|value|values)\b|\bmean q\b|\bvalue estimate\b"),
        many=True,
    ),
    Role(
        "vae.kl",
        "divergence of the posterior from the prior",
        "",
        matches(r"^(?!.*\b(approx|policy|mean|ref)\b).*\b(kl|kld)( loss| divergence| div)?( step| epoch)?$"),
        many=True,
    ),
    # ---- probes, data, ranks
    Role(
        "probe.eval_twice",
        "difference between two evaluations of one batch",
        'run.log({"probe/eval_twice": abs(first - second)}, step=step)',
        matches(r"\bprobe eval twice\b"),
    ),
    Role(
        "data.batch_hash",
        "a number computed from the batch's content",
        'run.log({"data/batch_hash": hash_of(batch)}, step=step)',
        matches(r"\bbatch (hash|checksum|fingerprint)\b"),
    ),
    Role(
        "data.padding",
        "share of the tokens that are padding or unknown",
        'run.log({"data/padding_share": share}, step=step)',
        matches(r"\b(pad|padding|unk) (share|fraction|ratio)\b"),
        many=True,
    ),
    Role(
        "rank.checksum",
        "a number computed from a rank's parameters",
        "pb.watch(model, optimizer)  # in every process",
        matches(r"\bparam checksum\b"),
    ),
    Role(
        "rank.own_time",
        "a rank's own time for data and the forward pass, before it waits for others",
        "pb.watch(model, optimizer)  # in every process",
        matches(r"^rank (data|forward) time\b"),
        many=True,
    ),
    Role(
        "rank.step_time",
        "a rank's step time, including waiting for others",
        "pb.watch(model, optimizer)  # in every process",
        matches(r"\brank step time\b"),
    ),
    Role(
        "schedule.batch_size",
        "the batch size, if it is scheduled",
        'run.log({"schedule/batch_size": batch_size}, step=step)',
        matches(r"\bbatch size\b"),
    ),
    Role(
        "schedule.sequence_length",
        "the sequence length, if it is scheduled",
        'run.log({"schedule/sequence_length": length}, step=step)',
        matches(r"\b(seq|sequence) (len|length)\b"),
    ),
)
