"""What old clients of TxnOffsetCommit are told instead of the coordinator's verdict (KafkaApis, AddPartitionsToTxnManager).

An old client dies on a code it does not know. PRODUCER_FENCED has been turned into INVALID_PRODUCER_EPOCH before, for every version.
"""

from __future__ import annotations

from oncelog.protocol.errors import ErrorCode


def txn_offset_commit_error(code: ErrorCode, api_version: int) -> ErrorCode:
    """For TxnOffsetCommit: clients before v2 crash on COORDINATOR_LOAD_IN_PROGRESS (KAFKA-7296)."""
    if code is ErrorCode.NETWORK_EXCEPTION:
        code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and api_version < 2:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if code is ErrorCode.TRANSACTION_ABORTABLE and api_version <= 3:
        return ErrorCode.INVALID_TXN_STATE
    return code
