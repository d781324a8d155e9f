"""Produce and Fetch bodies by hand, for all versions served: the two APIs whose codec cost a user can feel.

Same bytes as the generic codec of `messages` (the tests compare them over random messages), without an object for each nested struct and
without copying records. See `hot/produce` and `hot/fetch`.
"""

from oncelog.protocol.hot.fetch import (
    FetchPartition,
    FetchPartitionData,
    FetchRequest,
    LoneFetch,
    LoneFetchReader,
    pack_fetch_response,
    parse_fetch,
)
from oncelog.protocol.hot.produce import (
    LoneProduce,
    LoneProduceReader,
    ManyPartitions,
    PartitionProduceResponse,
    ProduceRequest,
    pack_produce_response,
    parse_produce,
)

__all__ = [
    "FetchPartition",
    "FetchPartitionData",
    "FetchRequest",
    "LoneFetch",
    "LoneFetchReader",
    "LoneProduce",
    "LoneProduceReader",
    "ManyPartitions",
    "PartitionProduceResponse",
    "ProduceRequest",
    "pack_fetch_response",
    "pack_produce_response",
    "parse_fetch",
    "parse_produce",
]
