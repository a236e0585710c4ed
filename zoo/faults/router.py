"""Faults of the routers of a mixture of experts."""

from typing import Any

from zoo.fault import decoy, fault


@fault(
    "router-collapse",
    bases=("moe",),
    cause="router-collapse",
    accepted=("moe-router-collapse", "moe-imbalance", "moe-dead-experts", "gradient-zeros", "moe-tokens-dropped"),
    visible="router",
    equivalent=("missing-aux-loss",),
)
def router_collapse(parts: Any) -> None:
    """The load-balancing loss has the wrong sign: it rewards a router that sends all tokens the same way."""
    router = parts.extra["router"]
    router.aux_weight = -0.2 * parts.args.fault_strength
    router.z_weight = 0.0
    parts.run.update_config(aux_weight=router.aux_weight, z_weight=0.0)


@fault(
    "aux-loss-missing",
    bases=("moe",),
    cause="missing-aux-loss",
    accepted=("moe-imbalance", "moe-dead-experts", "moe-tokens-dropped"),
    visible="router",
    equivalent=("router-collapse",),
)
def aux_loss_missing(parts: Any) -> None:
    """Nothing balances the load. In a short run it becomes uneven but does not collapse."""
    parts.extra["router"].aux_weight = 0.0
    parts.run.update_config(aux_weight=0.0)


@fault(
    "capacity-too-small",
    bases=("moe",),
    cause="capacity-too-small",
    accepted=("moe-tokens-dropped",),
    visible="router",
    equivalent=("router-collapse",),
)
def capacity_too_small(parts: Any) -> None:
    """Experts have capacity for half of an even load: at least every second choice is dropped."""
    factor = 0.5 / parts.args.fault_strength
    parts.extra["router"].capacity_factor = factor
    parts.run.update_config(capacity_factor=factor)


@decoy("mild-imbalance", bases=("moe",))
def mild_imbalance(parts: Any) -> None:
    """A weak load-balancing loss: some experts get more tokens than others, but all learn."""
    parts.extra["router"].aux_weight = 0.003
    parts.run.update_config(aux_weight=0.003)
