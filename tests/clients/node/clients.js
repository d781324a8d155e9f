// KafkaJS scenarios: `node clients.js SCENARIO BOOTSTRAP NAME` prints one line of JSON facts.
'use strict'
const { Kafka, logLevel } = require('kafkajs')

const [scenario, bootstrap, name] = process.argv.slice(2)
const kafka = new Kafka({ clientId: 'clients', brokers: [bootstrap], logLevel: logLevel.ERROR })

const create = async (topic, numPartitions) => {
  const admin = kafka.admin()
  await admin.connect()
  await admin.createTopics({ topics: [{ topic, numPartitions, replicationFactor: 1 }], waitForLeaders: true })
  await admin.disconnect()
}

// The values that a group of its own sees, from the start until `count` came.
const read = async (topic, groupId, count) => {
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 200 })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  const values = []
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, (event) => reject(event.payload.error))
    consumer.run({
      eachMessage: async ({ message }) => {
        values.push(message.value.toString())
        if (values.length === count) resolve()
      },
    })
  })
  await consumer.disconnect()
  return values
}

const committed = async (groupId, topic) => {
  const admin = kafka.admin()
  await admin.connect()
  const [found] = await admin.fetchOffsets({ groupId, topics: [topic] })
  await admin.disconnect()
  return found.partitions.map((partition) => partition.offset)
}

const scenarios = {
  async group () {
    await create(name, 1)
    const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
    await producer.connect()
    const sent = Array.from({ length: 50 }, (_, i) => `${i}`)
    await producer.send({ topic: name, messages: sent.map((value) => ({ value })) })
    await producer.disconnect()
    const values = await read(name, name, sent.length)
    return { same: JSON.stringify(values) === JSON.stringify(sent), committed: await committed(name, name) }
  },

  async transactions () {
    await create(name, 1)
    const producer = kafka.producer({ transactionalId: name, idempotent: true, maxInFlightRequests: 1 })
    await producer.connect()
    for (let i = 0; i < 5; i++) {
      const transaction = await producer.transaction()
      await transaction.send({ topic: name, messages: [{ value: `${i}` }] })
      await transaction.sendOffsets({
        consumerGroupId: `${name}-copied`,
        topics: [{ topic: name, partitions: [{ partition: 0, offset: `${i + 1}` }] }],
      })
      await (i % 2 ? transaction.abort() : transaction.commit())
    }
    await producer.disconnect()
    return { values: await read(name, name, 3), committed: await committed(`${name}-copied`, name) }
  },

  async admin () {
    const admin = kafka.admin()
    await admin.connect()
    await create(name, 2)
    await admin.createPartitions({ topicPartitions: [{ topic: name, count: 3 }] })
    const { topics } = await admin.fetchTopicMetadata({ topics: [name] })
    await admin.setOffsets({ groupId: name, topic: name, partitions: [{ partition: 0, offset: '0' }] })
    const { groups } = await admin.listGroups()
    const listed = groups.some((group) => group.groupId === name)
    await admin.deleteGroups([name])
    await admin.deleteTopics({ topics: [name] })
    const left = (await admin.listTopics()).includes(name)
    await admin.disconnect()
    return { partitions: topics[0].partitions.length, listed, left }
  },
}

scenarios[scenario]().then(
  (facts) => console.log(JSON.stringify(facts)),
  (error) => {
    console.error(error)
    process.exitCode = 1
  },
)
