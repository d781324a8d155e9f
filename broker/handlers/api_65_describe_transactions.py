"""DescribeTransactions (65), v0: state, timeout, start and partitions of transactional ids.

The partitions are those without a marker yet, and only of topics that the asker may describe. Unknown ids: 105.
"""

from __future__ import annotations

from itertools import groupby

from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.txn.queries import TransactionDescription
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode


@api(ApiKey.DESCRIBE_TRANSACTIONS, 0, 0)
def handle(req: messages.DescribeTransactionsRequest, ctx: RequestContext) -> messages.DescribeTransactionsResponse:
    """Describe them."""
    return messages.DescribeTransactionsResponse(transaction_states=[_state(_describe(id, ctx), ctx) for id in req.transactional_ids])


def _describe(transactional_id: str, ctx: RequestContext) -> TransactionDescription:
    if not ctx.authorize(AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, transactional_id):
        return TransactionDescription(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, transactional_id)
    return ctx.broker.transactions.describe(transactional_id)


def _state(found: TransactionDescription, ctx: RequestContext) -> messages.DescribeTransactionsResponse.TransactionState:
    kind = messages.DescribeTransactionsResponse.TransactionState
    by_topic = [
        (name, [partition.partition for partition in group])
        for name, group in groupby(sorted(found.partitions), key=lambda partition: partition.topic)
    ]
    return kind(
        error_code=found.error,
        transactional_id=found.transactional_id,
        transaction_state=found.state,
        transaction_timeout_ms=found.timeout_ms,
        transaction_start_time_ms=found.start_timestamp_ms,
        producer_id=found.producer_id,
        producer_epoch=found.producer_epoch,
        topics=[
            kind.TopicData(topic=name, partitions=partitions)
            for name, partitions in by_topic
            if ctx.sees(AclOperation.DESCRIBE, ResourceType.TOPIC, name)
        ],
    )
