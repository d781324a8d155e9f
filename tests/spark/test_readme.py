"""The README's query reads what was committed, and only that."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Producer
from support.process import BrokerProcess
from support.readme import program


def test_the_first_query(spark: Any, own_broker: BrokerProcess) -> None:
    producer = Producer({"bootstrap.servers": own_broker.bootstrap, "transactional.id": "t"})
    producer.init_transactions(20)
    for value, end in (("aborted", producer.abort_transaction), ("committed", producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce("flights", value)
        producer.flush(20)
        end(20)
    made: dict[str, Any] = {"spark": spark}
    exec(program("Spark", own_broker.bootstrap), made)
    query = made["flights"].writeStream.format("memory").queryName("first_query").trigger(availableNow=True).start()
    assert query.awaitTermination(100)
    assert [bytes(row.value) for row in spark.table("first_query").collect()] == [b"committed"]
