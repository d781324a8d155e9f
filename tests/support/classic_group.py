"""Classic groups brought into a state by requests."""

from __future__ import annotations

from oncelog.coordinator.groups.classic.join import JoinGroup, join
from oncelog.coordinator.groups.classic.rebalance import become_stable
from oncelog.coordinator.groups.classic.state import ClassicGroup, ClassicGroupState, GroupEvent, MemberProtocol
from oncelog.coordinator.groups.config import GroupConfig

S, EV = ClassicGroupState, GroupEvent
DELAY_MS = 3_000
CONFIG = GroupConfig(group_initial_rebalance_delay_ms=0)  # the first member's rebalance is over when it is answered
PATIENT = GroupConfig(group_initial_rebalance_delay_ms=DELAY_MS)
NOW_MS = 1_000
LEADER, FOLLOWER, STATIC = "leader", "follower", "static"


def request(member_id: str, *, instance: str | None = None, metadata: bytes = b"1", new: str = "newcomer") -> JoinGroup:
    protocols = (MemberProtocol("range", metadata),)
    return JoinGroup("g", member_id, instance, "c", "/h", 10_000, 10_000, "consumer", protocols, new, False, True)


def group_in(state: ClassicGroupState) -> ClassicGroup:
    """A group with a leader, a follower and a static member, brought there by requests."""
    group = ClassicGroup("g")
    if state is S.DEAD:
        group.transition(S.DEAD, NOW_MS)
    if state in (S.DEAD, S.EMPTY):
        return group
    for name in (LEADER, FOLLOWER, STATIC):
        join(group, request("", instance="i" if name == STATIC else None, new=name), CONFIG, NOW_MS)
        for other in list(group.members):  # who had joined before joins again
            if group.state is S.PREPARING_REBALANCE and not group.members[other].awaiting_join:
                join(group, request(other, instance="i" if other == STATIC else None), CONFIG, NOW_MS)
    if state is S.STABLE:
        become_stable(group, {}, NOW_MS)
    if state is S.PREPARING_REBALANCE:
        become_stable(group, {}, NOW_MS)
        join(group, request(LEADER), CONFIG, NOW_MS)
    group.take()
    assert group.state is state
    return group
