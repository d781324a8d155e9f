"""Names of Kafka's broker settings that have no effect on one node of ours: accepted, so that a server.properties can be used as it is."""

from __future__ import annotations

_NAMES = """
add.partitions.to.txn.retry.backoff.max.ms add.partitions.to.txn.retry.backoff.ms alter.config.policy.class.name
alter.log.dirs.replication.quota.window.num alter.log.dirs.replication.quota.window.size.seconds auto.include.jmx.reporter
auto.leader.rebalance.enable background.threads broker.heartbeat.interval.ms broker.id.generation.enable broker.rack
broker.session.timeout.ms client.quota.callback.class compression.gzip.level compression.lz4.level compression.zstd.level
connection.failed.authentication.delay.ms connections.max.reauth.ms control.plane.listener.name controlled.shutdown.enable
controlled.shutdown.max.retries controlled.shutdown.retry.backoff.ms controller.performance.always.log.threshold.ms
controller.performance.sample.period.ms controller.quorum.append.linger.ms controller.quorum.bootstrap.servers
controller.quorum.election.backoff.max.ms controller.quorum.election.timeout.ms controller.quorum.fetch.timeout.ms
controller.quorum.request.timeout.ms controller.quorum.retry.backoff.ms controller.quorum.voters controller.quota.window.num
controller.quota.window.size.seconds controller.socket.timeout.ms create.topic.policy.class.name
delegation.token.expiry.check.interval.ms delegation.token.expiry.time.ms delegation.token.master.key delegation.token.max.lifetime.ms
delegation.token.secret.key delete.records.purgatory.purge.interval.requests early.start.listeners
fetch.purgatory.purge.interval.requests group.coordinator.append.linger.ms group.coordinator.cached.buffer.max.bytes
group.coordinator.new.enable group.coordinator.rebalance.protocols group.coordinator.threads group.share.enable
group.share.assignors group.share.delivery.count.limit group.share.heartbeat.interval.ms group.share.max.groups
group.share.max.heartbeat.interval.ms group.share.max.record.lock.duration.ms group.share.max.session.timeout.ms group.share.max.size
group.share.min.heartbeat.interval.ms group.share.min.record.lock.duration.ms group.share.min.session.timeout.ms
group.share.partition.max.record.locks group.share.record.lock.duration.ms group.share.session.timeout.ms
group.streams.heartbeat.interval.ms group.streams.session.timeout.ms group.streams.max.size group.streams.num.standby.replicas
initial.broker.registration.timeout.ms inter.broker.protocol.version kafka.metrics.polling.interval.secs kafka.metrics.reporters
leader.imbalance.check.interval.seconds leader.imbalance.per.broker.percentage log.cleaner.enable log.cleaner.backoff.ms
log.cleaner.dedupe.buffer.size log.cleaner.io.buffer.load.factor log.cleaner.io.buffer.size log.cleaner.io.max.bytes.per.second
log.cleaner.threads log.dir.failure.timeout.ms log.flush.interval.messages log.flush.interval.ms
log.flush.offset.checkpoint.interval.ms log.flush.scheduler.interval.ms log.flush.start.offset.checkpoint.interval.ms
log.initial.task.delay.ms log.message.downconversion.enable log.message.format.version log.message.timestamp.difference.max.ms
log.segment.delete.delay.ms max.connection.creation.rate max.connections.per.ip max.connections.per.ip.overrides
metadata.log.dir metadata.log.max.record.bytes.between.snapshots metadata.log.max.snapshot.interval.ms metadata.log.segment.bytes
metadata.log.segment.min.bytes metadata.log.segment.ms metadata.max.idle.interval.ms metadata.max.retention.bytes
metadata.max.retention.ms metric.reporters metrics.num.samples metrics.recording.level metrics.sample.window.ms num.io.threads
num.network.threads num.recovery.threads.per.data.dir num.replica.alter.log.dirs.threads num.replica.fetchers
offset.metadata.max.bytes offsets.commit.required.acks offsets.commit.timeout.ms offsets.load.buffer.size
offsets.topic.compression.codec offsets.topic.replication.factor offsets.topic.segment.bytes password.encoder.secret
principal.builder.class process.roles producer.purgatory.purge.interval.requests queued.max.request.bytes queued.max.requests
quota.window.num quota.window.size.seconds remote.log.storage.system.enable remote.log.manager.task.interval.ms
remote.log.storage.manager.class.name remote.log.metadata.manager.class.name replica.fetch.backoff.ms replica.fetch.max.bytes
replica.fetch.min.bytes replica.fetch.response.max.bytes replica.fetch.wait.max.ms
replica.high.watermark.checkpoint.interval.ms replica.lag.time.max.ms replica.selector.class replica.socket.receive.buffer.bytes
replica.socket.timeout.ms replication.quota.window.num replication.quota.window.size.seconds reserved.broker.max.id
sasl.client.callback.handler.class sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin
sasl.kerberos.principal.to.local.rules sasl.kerberos.service.name sasl.kerberos.ticket.renew.jitter
sasl.kerberos.ticket.renew.window.factor sasl.login.callback.handler.class sasl.login.class sasl.mechanism.controller.protocol
sasl.mechanism.inter.broker.protocol sasl.oauthbearer.jwks.endpoint.url sasl.oauthbearer.token.endpoint.url
sasl.server.callback.handler.class security.inter.broker.protocol security.providers server.max.startup.time.ms
share.coordinator.state.topic.min.isr share.coordinator.state.topic.num.partitions share.coordinator.state.topic.replication.factor
share.coordinator.state.topic.segment.bytes socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms
socket.listen.backlog.size socket.receive.buffer.bytes socket.send.buffer.bytes ssl.endpoint.identification.algorithm
ssl.engine.factory.class ssl.keymanager.algorithm ssl.protocol ssl.provider ssl.secure.random.implementation ssl.trustmanager.algorithm
ssl.truststore.password telemetry.max.bytes transaction.partition.verification.enable transaction.state.log.load.buffer.size
unclean.leader.election.enable unclean.leader.election.interval.ms unstable.feature.versions.enable zookeeper.connect
zookeeper.connection.timeout.ms zookeeper.session.timeout.ms
"""
KNOWN_UNUSED = frozenset(_NAMES.split())
