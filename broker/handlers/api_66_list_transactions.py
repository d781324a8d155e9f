"""ListTransactions (66), v0-2: the transactional ids that pass all filters; those the asker may not describe are left out silently.

v1: duration filter. v2: pattern (KIP-1152), RE2, which has to match the whole id; a bad one is answered 128.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.net.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey


@api(ApiKey.LIST_TRANSACTIONS, 0, 2)
def handle(req: messages.ListTransactionsRequest, ctx: RequestContext) -> messages.ListTransactionsResponse:
    """List them."""
    found = ctx.broker.transactions.list(req.state_filters, req.producer_id_filters, req.duration_filter, req.transactional_id_pattern)
    kind = messages.ListTransactionsResponse.TransactionState
    return messages.ListTransactionsResponse(
        error_code=found.error,
        unknown_state_filters=list(found.unknown_states),
        transaction_states=[
            kind(transactional_id=each.transactional_id, producer_id=each.producer_id, transaction_state=each.state.wire_name)
            for each in found.transactions
            if ctx.sees(AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, each.transactional_id)
        ],
    )
