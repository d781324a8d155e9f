"""A classic consumer group: members agree on a generation by JoinGroup, their leader assigns by SyncGroup (Kafka's `ClassicGroup`).

    Empty ──join──► PreparingRebalance ──all joined, or time is up──► CompletingRebalance ──leader's sync──► Stable
      ▲                  ▲      │ nobody left                             │ join, leave, expiry                 │ join, leave, expiry
      └──────────────────┼──────┘                                         │                                     │
                         └────────────────────────────────────────────────┴─────────────────────────────────────┘

Two kinds of state. What the group's record in `__consumer_offsets` holds (generation, protocol, leader, members, their assignments)
becomes final when that record is replayed. Who waits for an answer, who has a member id but has not joined yet and what the deadlines
are is only remembered: after a restart members notice by an error and join again, as with Kafka.

`TRANSITIONS` says what is answered and which state follows; `classic/join` and `classic/requests` look it up once who asks has been
checked, `classic/rebalance` carries it out.

There is no draft here as there is of a consumer group. Most of what a request changes is never written: a rebalance lives in memory, and
only its end, Stable or Empty, makes a record. When that cannot be written, the way back is not the group as it was, whose members wait for
answers, but the next rebalance (`fail_assignment`), as in Kafka.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from oncelog.protocol.errors import ErrorCode


class ClassicGroupState(Enum):
    """The value is what DescribeGroups and ListGroups call it."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class GroupEvent(Enum):
    """What can happen to a classic group; the value is what STATES.md prints."""

    JOIN_NEW = "JoinGroup of a new member"
    JOIN_KNOWN = "JoinGroup of a member, unchanged"
    JOIN_LEADER = "JoinGroup of the leader"
    JOIN_CHANGED = "JoinGroup of a member, other protocols"
    JOIN_STATIC = "JoinGroup of a static member that returns, same protocol"
    ALL_JOINED = "all members joined, or the rebalance timeout"
    ALL_LEFT = "all members joined, or the rebalance timeout, nobody left"
    SYNC_FOLLOWER = "SyncGroup of a follower"
    SYNC_LEADER = "SyncGroup of the leader"
    HEARTBEAT = "Heartbeat"
    COMMIT = "OffsetCommit of a member"
    COMMIT_TXN = "TxnOffsetCommit of a member"
    COMMIT_SIMPLE = "OffsetCommit without generation"
    LEAVE = "LeaveGroup, session timeout or sync timeout of a member"
    DELETE = "DeleteGroups"


class GroupOutcome(NamedTuple):
    """The answer (None: it is kept waiting, or nobody asked) and the state that follows (None: it stays)."""

    error: ErrorCode | None
    next_state: ClassicGroupState | None = None


_S, _E, _R = ClassicGroupState, GroupEvent, ErrorCode
_OK = GroupOutcome(_R.NONE)
_WAIT = GroupOutcome(None)
_REBALANCE = GroupOutcome(None, _S.PREPARING_REBALANCE)
_LEFT = GroupOutcome(_R.NONE, _S.PREPARING_REBALANCE)
_NOTHING = GroupOutcome(None)
_UNKNOWN = GroupOutcome(_R.UNKNOWN_MEMBER_ID)
_BUSY = GroupOutcome(_R.REBALANCE_IN_PROGRESS)
_USED = GroupOutcome(_R.NON_EMPTY_GROUP)
_GONE = GroupOutcome(_R.COORDINATOR_NOT_AVAILABLE)
_TO_STABLE = GroupOutcome(_R.NONE, _S.STABLE)

# One row an event; columns in the order of the states. In Empty and Dead no member exists, so a request that names one is refused.
_ROWS: dict[GroupEvent, tuple[GroupOutcome, GroupOutcome, GroupOutcome, GroupOutcome, GroupOutcome]] = {
    #                  Empty       Preparing   Completing  Stable      Dead
    _E.JOIN_NEW:      (_REBALANCE, _WAIT,      _REBALANCE, _REBALANCE, _GONE),
    _E.JOIN_KNOWN:    (_UNKNOWN,   _WAIT,      _OK,        _OK,        _GONE),
    _E.JOIN_LEADER:   (_UNKNOWN,   _WAIT,      _OK,        _REBALANCE, _GONE),
    _E.JOIN_CHANGED:  (_UNKNOWN,   _WAIT,      _REBALANCE, _REBALANCE, _GONE),
    _E.JOIN_STATIC:   (_REBALANCE, _WAIT,      _REBALANCE, _OK,        _GONE),
    _E.ALL_JOINED:    (_NOTHING,   GroupOutcome(None, _S.COMPLETING_REBALANCE), _NOTHING, _NOTHING, _NOTHING),
    _E.ALL_LEFT:      (_NOTHING,   GroupOutcome(None, _S.EMPTY),                _NOTHING, _NOTHING, _NOTHING),
    _E.SYNC_FOLLOWER: (_UNKNOWN,   _BUSY,      _WAIT,      _OK,        _GONE),
    _E.SYNC_LEADER:   (_UNKNOWN,   _BUSY,      _TO_STABLE, _OK,        _GONE),
    _E.HEARTBEAT:     (_UNKNOWN,   _BUSY,      _OK,        _OK,        _GONE),
    _E.COMMIT:        (_UNKNOWN,   _OK,        _BUSY,      _OK,        _GONE),
    _E.COMMIT_TXN:    (_UNKNOWN,   _OK,        _OK,        _OK,        _GONE),
    _E.COMMIT_SIMPLE: (_OK,        _UNKNOWN,   _UNKNOWN,   _UNKNOWN,   _GONE),
    _E.LEAVE:         (_UNKNOWN,   _OK,        _LEFT,      _LEFT,      _UNKNOWN),
    _E.DELETE:        (GroupOutcome(_R.NONE, _S.DEAD), _USED, _USED, _USED, GroupOutcome(_R.GROUP_ID_NOT_FOUND)),
}  # fmt: skip

TRANSITIONS: dict[tuple[ClassicGroupState, GroupEvent], GroupOutcome] = {
    (state, event): outcome for event, row in _ROWS.items() for state, outcome in zip(ClassicGroupState, row, strict=True)
}


class MemberProtocol(NamedTuple):
    """One protocol that a member can use, with the metadata it gives to the leader; the broker does not read it."""

    name: str
    metadata: bytes


@dataclass(slots=True)
class ClassicMember:
    """A member. `deadline_ms`: when its session ends (None while the broker owes it an answer)."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: tuple[MemberProtocol, ...]
    assignment: bytes = b""
    awaiting_join: bool = False
    awaiting_sync: bool = False
    is_new: bool = False
    deadline_ms: float | None = None

    def metadata(self, protocol_name: str) -> bytes:
        """Its metadata for the protocol; empty when it does not know it."""
        return next((each.metadata for each in self.protocols if each.name == protocol_name), b"")

    def vote(self, candidates: Iterable[str]) -> str | None:
        """The first of its protocols that is a candidate."""
        wanted = set(candidates)
        return next((each.name for each in self.protocols if each.name in wanted), None)


@dataclass(frozen=True, slots=True)
class JoinedMember:
    """What the leader is told of a member."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


@dataclass(frozen=True, slots=True)
class JoinGroupResult:
    """Fields of the JoinGroup answer; `members` is for the leader only."""

    error: ErrorCode
    member_id: str = ""
    generation_id: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = ""
    members: tuple[JoinedMember, ...] = ()
    skip_assignment: bool = False


@dataclass(frozen=True, slots=True)
class SyncGroupResult:
    """Fields of the SyncGroup answer."""

    error: ErrorCode
    assignment: bytes = b""
    protocol_type: str | None = None
    protocol_name: str | None = None


class JoinAnswer(NamedTuple):
    """Effect: the parked JoinGroup of this member gets this answer."""

    group_id: str
    member_id: str
    result: JoinGroupResult


class SyncAnswer(NamedTuple):
    """Effect: the parked SyncGroup of this member gets this answer."""

    group_id: str
    member_id: str
    result: SyncGroupResult


Answer = JoinAnswer | SyncAnswer


@dataclass(slots=True)
class ClassicGroup:
    """`answers` collects what parked requests are to be told, `record_due` that the group's record must be written; `take` empties both."""

    group_id: str
    state: ClassicGroupState = ClassicGroupState.EMPTY
    state_timestamp_ms: int = -1
    generation_id: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str | None = None
    members: dict[str, ClassicMember] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    pending_members: dict[str, float] = field(default_factory=dict)  # member id -> deadline
    pending_sync: set[str] = field(default_factory=set)
    join_deadline_ms: float | None = None
    initial_delay_left_ms: int = 0
    initial_delay_ms: int = 0
    new_member_added: bool = False
    was_empty: bool = False
    sync_deadline_ms: float | None = None
    answers: list[Answer] = field(default_factory=list)
    record_due: bool = False

    # -- questions

    def answer_to(self, event: GroupEvent) -> ErrorCode:
        """What the table answers now to an event that is never kept waiting."""
        error = TRANSITIONS[self.state, event].error
        assert error is not None, f"{event.value} is kept waiting in {self.state.value}"
        return error

    @property
    def is_simple(self) -> bool:
        """It only ever had offsets committed to it."""
        return self.state is ClassicGroupState.EMPTY and not self.protocol_type

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def awaiting_join_count(self) -> int:
        return sum(member.awaiting_join for member in self.members.values())

    def has_all_joined(self) -> bool:
        return not self.pending_members and all(member.awaiting_join for member in self.members.values())

    def common_protocols(self) -> list[str]:
        """Names that every member can use."""
        members = list(self.members.values())
        if not members:
            return []
        known = [{each.name for each in member.protocols} for member in members]
        return [each.name for each in members[0].protocols if all(each.name in names for names in known)]

    def supports_protocols(self, protocol_type: str, protocols: Iterable[MemberProtocol]) -> bool:
        """May a member that knows these protocols be in this group?"""
        names = {each.name for each in protocols}
        if self.state is ClassicGroupState.EMPTY:
            return bool(protocol_type and names)
        return protocol_type == self.protocol_type and (not self.members or not names.isdisjoint(self.common_protocols()))

    def select_protocol(self) -> str | None:
        """The common protocol with the most votes; each member votes for the first it likes. Ties go to the first seen."""
        candidates = self.common_protocols()
        votes: dict[str, int] = {}
        for member in self.members.values():
            choice = member.vote(candidates)
            if choice is not None:
                votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=votes.__getitem__) if votes else None

    def validate_member(self, member_id: str, group_instance_id: str | None) -> ErrorCode:
        """Is this the member that holds the id, and the instance id if one is given?"""
        if group_instance_id is None:
            return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID
        holder = self.static_members.get(group_instance_id)
        if holder is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE if holder == member_id else ErrorCode.FENCED_INSTANCE_ID

    def joined_members(self) -> tuple[JoinedMember, ...]:
        """The list for the leader, with the metadata of the chosen protocol."""
        name = self.protocol_name or ""
        return tuple(JoinedMember(m.member_id, m.group_instance_id, m.metadata(name)) for m in self.members.values())

    def next_deadline_ms(self) -> float | None:
        """When `rebalance.expire` has something to do."""
        deadlines = [d for d in (self.join_deadline_ms, self.sync_deadline_ms) if d is not None]
        deadlines += self.pending_members.values()
        deadlines += [member.deadline_ms for member in self.members.values() if member.deadline_ms is not None]
        return min(deadlines, default=None)

    # -- changes

    def take(self) -> tuple[Answer, ...]:
        """The answers collected so far, once."""
        taken, self.answers = tuple(self.answers), []
        return taken

    def follow(self, event: GroupEvent, now_ms: int) -> None:
        """Go where the table says; the event must lead somewhere."""
        following = TRANSITIONS[self.state, event].next_state
        assert following is not None, f"{self.group_id}: {event.value} in {self.state.value}"
        self.transition(following, now_ms)

    def transition(self, state: ClassicGroupState, now_ms: int) -> None:
        self.was_empty = self.state is ClassicGroupState.EMPTY
        self.state = state
        self.state_timestamp_ms = now_ms

    def add(self, member: ClassicMember) -> None:
        """A member, who leads when there is no other."""
        if not self.members:
            self.protocol_type = member.protocol_type
        self.members[member.member_id] = member
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id
        if self.leader is None:
            self.leader = member.member_id
        self.pending_members.pop(member.member_id, None)

    def remove(self, member_id: str) -> None:
        """Forget a member; whatever it waits for is answered with UNKNOWN_MEMBER_ID."""
        member = self.members.pop(member_id)
        self.pending_sync.discard(member_id)
        if member.group_instance_id is not None:
            self.static_members.pop(member.group_instance_id, None)
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.refuse(member, ErrorCode.UNKNOWN_MEMBER_ID)

    def refuse(self, member: ClassicMember, error: ErrorCode) -> None:
        """Answer whatever the member waits for with an error."""
        if member.awaiting_join:
            self.answer_join(member, JoinGroupResult(error, member.member_id))
        if member.awaiting_sync:
            self.answer_sync(member, SyncGroupResult(error))

    def answer_join(self, member: ClassicMember, result: JoinGroupResult) -> None:
        if member.awaiting_join:
            member.awaiting_join = False
            self.answers.append(JoinAnswer(self.group_id, member.member_id, result))

    def answer_sync(self, member: ClassicMember, result: SyncGroupResult) -> None:
        if member.awaiting_sync:
            member.awaiting_sync = False
            self.answers.append(SyncAnswer(self.group_id, member.member_id, result))
