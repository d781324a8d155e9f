"""What the requests to the share coordinator have in common."""

from __future__ import annotations

import uuid

import pytest
from oncelog.broker.auth.acls import AclOperation
from oncelog.coordinator.share.state import ShareState
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.share_requests import SharePartition, Told, in_process
from support.whole_broker import CLUSTER, WholeBroker


def of_every_request(one: SharePartition) -> list[Told]:
    return [one.initialize(), one.read(), one.write(), one.delete(), one.summary()]


def known(whole: WholeBroker) -> list[ShareState]:
    return [state for shard in whole.context.persister.runtime.shards() for state in shard.states.values()]


def test_who_may_not_act_on_the_cluster_is_told_nothing(whole: WholeBroker) -> None:
    one = in_process(whole)
    one.initialize(3, 5)
    whole.deny(AclOperation.CLUSTER_ACTION, *CLUSTER)
    told = of_every_request(one)
    assert {(each.error_code, each.error_message) for each in told} == {(31, "Cluster authorization failed.")}
    assert {each.start_offset for each in told} <= {None, 0, -1}
    assert [(state.state_epoch, state.start_offset) for state in known(whole)] == [(3, 5)]


def test_a_negative_partition_is_told_as_such(whole: WholeBroker) -> None:
    told = of_every_request(SharePartition(in_process(whole)._ask, "g", whole.topic_id("t"), -1))
    assert {each[:2] for each in told} == {(ErrorCode.INVALID_REQUEST, "The partition id cannot be a negative number.")}


@pytest.mark.parametrize("group", ["", "g"])
def test_answers_keep_the_order_and_the_grouping_of_the_request(whole: WholeBroker, group: str) -> None:
    kind = messages.InitializeShareGroupStateRequest.InitializeStateData
    asked = [[1, 0], [0, 5]]
    ids = [whole.topic_id("t"), uuid.UUID(int=8)]
    topics = [
        kind(topic_id=id, partitions=[kind.PartitionData(partition=n, state_epoch=0, start_offset=0) for n in numbers])
        for id, numbers in zip(ids, asked, strict=True)
    ]
    body = messages.encode_request(
        ApiKey.INITIALIZE_SHARE_GROUP_STATE, 0, messages.InitializeShareGroupStateRequest(group_id=group, topics=topics)
    )
    results = whole.begin_body(ApiKey.INITIALIZE_SHARE_GROUP_STATE, 0, body).answer().results
    found = [(one.topic_id, [(p.partition, p.error_code) for p in one.partitions]) for one in results]
    assert found == ([] if not group else [(ids[0], [(1, 0), (0, 0)]), (ids[1], [(0, 3), (5, 3)])])


def test_while_the_coordinator_reads_its_log_it_says_so(whole: WholeBroker) -> None:
    whole.context.persister.runtime.loading = True
    assert {each.error_code for each in of_every_request(in_process(whole))} == {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}


def test_a_disk_that_refuses_is_told_and_nothing_is_changed(whole: WholeBroker) -> None:
    one = in_process(whole)
    one.initialize(1, 4)
    whole.fs.fail(1, only=("pwrite",))
    assert one.initialize(2, 9)[:2] == (ErrorCode.NOT_COORDINATOR, "This is not the correct coordinator.")
    assert [(state.state_epoch, state.start_offset) for state in known(whole)] == [(1, 4)]


def test_what_a_deleted_topic_had_is_forgotten(whole: WholeBroker) -> None:
    one = in_process(whole)
    one.initialize(1, 4)
    whole.ask(ApiKey.DELETE_TOPICS, 5, topic_names=["t"], timeout_ms=5000)
    whole.advance(100)
    assert not known(whole)
