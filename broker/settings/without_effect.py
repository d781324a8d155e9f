"""Kafka's broker settings that have no effect on one node of ours: accepted, so that a server.properties can be used as it is.

DescribeConfigs lists those of Apache Kafka 4.3.0 with Kafka's default whatever the file says, because nothing acts on another value.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

from oncelog.protocol.config_def import ConfigType, Option

ACCEPTED = "Accepted for compatibility; without effect here."
# name, type, default; "dynamic" where Kafka alters it at run time and nobody can tell whether we do
_SETTINGS = """
add.partitions.to.txn.retry.backoff.max.ms int 100
add.partitions.to.txn.retry.backoff.ms int 20
alter.config.policy.class.name class null
alter.log.dirs.replication.quota.window.num int 11
alter.log.dirs.replication.quota.window.size.seconds int 1
auto.leader.rebalance.enable boolean true
background.threads int 10 dynamic
broker.heartbeat.interval.ms int 2000
broker.rack string null
broker.session.timeout.ms int 9000
client.quota.callback.class class null
config.providers list ""
controlled.shutdown.enable boolean true
controller.quorum.append.linger.ms int 25
controller.quorum.auto.join.enable boolean false
controller.quorum.bootstrap.servers list ""
controller.quorum.election.backoff.max.ms int 1000
controller.quorum.election.timeout.ms int 1000
controller.quorum.fetch.max.bytes int 1048576
controller.quorum.fetch.snapshot.max.bytes int 1048576
controller.quorum.fetch.timeout.ms int 2000
controller.quorum.request.timeout.ms int 2000
controller.quorum.retry.backoff.ms int 20
controller.quorum.voters list ""
controller.quota.window.num int 11
controller.quota.window.size.seconds int 1
controller.socket.timeout.ms int 30000
cordoned.log.dirs list ""
create.topic.policy.class.name class null
delegation.token.expiry.check.interval.ms long 3600000
delegation.token.expiry.time.ms long 86400000
delegation.token.max.lifetime.ms long 604800000
delegation.token.secret.key password null
delete.records.purgatory.purge.interval.requests int 1
early.start.listeners list null
fetch.purgatory.purge.interval.requests int 1000
follower.fetch.last.tiered.offset.enable boolean false dynamic
group.coordinator.append.linger.ms int -1
group.coordinator.background.threads int 2
group.coordinator.cached.buffer.max.bytes int 1048588 dynamic
group.coordinator.rebalance.protocols list classic,consumer,streams
group.coordinator.threads int 4
initial.broker.registration.timeout.ms int 60000
inter.broker.listener.name string null
kafka.metrics.polling.interval.secs int 10
kafka.metrics.reporters list ""
leader.imbalance.check.interval.seconds long 300
log.cleaner.backoff.ms long 15000 dynamic
log.cleaner.dedupe.buffer.size long 134217728 dynamic
log.cleaner.enable boolean true
log.cleaner.io.buffer.load.factor double 0.9 dynamic
log.cleaner.io.buffer.size int 524288 dynamic
log.cleaner.io.max.bytes.per.second double 1.7976931348623157E308 dynamic
log.cleaner.threads int 1 dynamic
log.dir.failure.timeout.ms long 30000
log.flush.offset.checkpoint.interval.ms int 60000
log.flush.start.offset.checkpoint.interval.ms int 60000
max.connection.creation.rate int 2147483647
metadata.log.dir string null
metadata.log.max.record.bytes.between.snapshots long 20971520
metadata.log.max.snapshot.interval.ms long 3600000
metadata.log.segment.bytes int 1073741824
metadata.log.segment.ms long 604800000
metadata.max.idle.interval.ms int 500
metadata.max.retention.bytes long 104857600
metadata.max.retention.ms long 604800000
metric.reporters list org.apache.kafka.common.metrics.JmxReporter
metrics.num.samples int 2
metrics.recording.level string INFO
metrics.sample.window.ms long 30000
num.io.threads int 8 dynamic
num.network.threads int 3 dynamic
num.recovery.threads.per.data.dir int 2 dynamic
num.replica.alter.log.dirs.threads int null
num.replica.fetchers int 1 dynamic
offsets.commit.timeout.ms int 5000
offsets.load.buffer.size int 5242880
offsets.topic.compression.codec int 0
offsets.topic.replication.factor short 3
principal.builder.class class org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder
process.roles list null
producer.purgatory.purge.interval.requests int 1000
queued.max.requests int 500
quota.window.num int 11
quota.window.size.seconds int 1
remote.fetch.max.wait.ms int 500 dynamic
remote.list.offsets.request.timeout.ms long 30000 dynamic
remote.log.index.file.cache.total.size.bytes long 1073741824 dynamic
remote.log.manager.copier.thread.pool.size int 10 dynamic
remote.log.manager.copy.max.bytes.per.second long 9223372036854775807 dynamic
remote.log.manager.copy.quota.window.num int 11
remote.log.manager.copy.quota.window.size.seconds int 1
remote.log.manager.expiration.thread.pool.size int 10 dynamic
remote.log.manager.fetch.max.bytes.per.second long 9223372036854775807 dynamic
remote.log.manager.fetch.quota.window.num int 11
remote.log.manager.fetch.quota.window.size.seconds int 1
remote.log.manager.follower.thread.pool.size int 2 dynamic
remote.log.manager.task.interval.ms long 30000
remote.log.manager.thread.pool.size int 2
remote.log.metadata.custom.metadata.max.bytes int 128
remote.log.metadata.manager.class.name string org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager
remote.log.metadata.manager.class.path string null
remote.log.metadata.manager.impl.prefix string rlmm.config.
remote.log.metadata.manager.listener.name string null
remote.log.reader.max.pending.tasks int 100
remote.log.reader.threads int 10 dynamic
remote.log.storage.manager.class.name string null
remote.log.storage.manager.class.path string null
remote.log.storage.manager.impl.prefix string rsm.config.
remote.log.storage.system.enable boolean false
replica.fetch.backoff.ms int 1000
replica.fetch.max.bytes int 1048576
replica.fetch.min.bytes int 1
replica.fetch.response.max.bytes int 10485760
replica.fetch.wait.max.ms int 500
replica.high.watermark.checkpoint.interval.ms long 5000
replica.lag.time.max.ms long 30000
replica.selector.class string null
replica.socket.receive.buffer.bytes int 65536
replica.socket.timeout.ms int 30000
replication.quota.window.num int 11
replication.quota.window.size.seconds int 1
request.timeout.ms int 30000
sasl.client.callback.handler.class class null
sasl.kerberos.kinit.cmd string /usr/bin/kinit dynamic
sasl.kerberos.min.time.before.relogin long 60000 dynamic
sasl.kerberos.principal.to.local.rules list DEFAULT dynamic
sasl.kerberos.service.name string null dynamic
sasl.kerberos.ticket.renew.jitter double 0.05 dynamic
sasl.kerberos.ticket.renew.window.factor double 0.8 dynamic
sasl.login.callback.handler.class class null
sasl.login.class class null
sasl.login.connect.timeout.ms int null
sasl.login.read.timeout.ms int null
sasl.login.refresh.buffer.seconds short 300 dynamic
sasl.login.refresh.min.period.seconds short 60 dynamic
sasl.login.refresh.window.factor double 0.8 dynamic
sasl.login.refresh.window.jitter double 0.05 dynamic
sasl.login.retry.backoff.max.ms long 10000
sasl.login.retry.backoff.ms long 100
sasl.mechanism.controller.protocol string GSSAPI
sasl.mechanism.inter.broker.protocol string GSSAPI dynamic
sasl.oauthbearer.assertion.algorithm string RS256
sasl.oauthbearer.assertion.claim.aud string null
sasl.oauthbearer.assertion.claim.exp.seconds int 300
sasl.oauthbearer.assertion.claim.iss string null
sasl.oauthbearer.assertion.claim.jti.include boolean false
sasl.oauthbearer.assertion.claim.nbf.seconds int 60
sasl.oauthbearer.assertion.claim.sub string null
sasl.oauthbearer.assertion.file string null
sasl.oauthbearer.assertion.private.key.file string null
sasl.oauthbearer.assertion.private.key.passphrase password null
sasl.oauthbearer.assertion.template.file string null
sasl.oauthbearer.client.credentials.client.id string null
sasl.oauthbearer.client.credentials.client.secret password null
sasl.oauthbearer.clock.skew.seconds int 30
sasl.oauthbearer.expected.audience list ""
sasl.oauthbearer.expected.issuer string null
sasl.oauthbearer.jwks.endpoint.refresh.ms long 3600000
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms long 10000
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms long 100
sasl.oauthbearer.jwks.endpoint.url string null
sasl.oauthbearer.jwt.retriever.class class org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever
sasl.oauthbearer.jwt.validator.class class org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator
sasl.oauthbearer.scope string null
sasl.oauthbearer.scope.claim.name string scope
sasl.oauthbearer.sub.claim.name string sub
sasl.oauthbearer.token.endpoint.url string null
sasl.server.callback.handler.class class null
security.inter.broker.protocol string PLAINTEXT
security.providers string null
share.coordinator.append.linger.ms int -1
share.coordinator.cached.buffer.max.bytes int 1048588 dynamic
share.coordinator.load.buffer.size int 5242880
share.coordinator.state.topic.compression.codec int 0
share.coordinator.state.topic.replication.factor short 3
share.coordinator.threads int 1
share.coordinator.write.timeout.ms int 5000
share.fetch.purgatory.purge.interval.requests int 1000
socket.connection.setup.timeout.max.ms long 30000
socket.connection.setup.timeout.ms long 10000
socket.listen.backlog.size int 50
socket.receive.buffer.bytes int 102400
socket.send.buffer.bytes int 102400
ssl.allow.dn.changes boolean false
ssl.allow.san.changes boolean false
ssl.endpoint.identification.algorithm string https dynamic
ssl.engine.factory.class class null dynamic
ssl.keymanager.algorithm string SunX509 dynamic
ssl.protocol string TLSv1.3 dynamic
ssl.provider string null dynamic
ssl.secure.random.implementation string null dynamic
ssl.trustmanager.algorithm string PKIX dynamic
ssl.truststore.password password null dynamic
telemetry.max.bytes int 1048576
transaction.state.log.load.buffer.size int 5242880
transaction.state.log.replication.factor short 3
"""
# taken at the start, not listed: internal, or of releases before 4.3
_UNLISTED = """
auto.include.jmx.reporter broker.id.generation.enable control.plane.listener.name controlled.shutdown.max.retries
controlled.shutdown.retry.backoff.ms controller.performance.always.log.threshold.ms controller.performance.sample.period.ms
delegation.token.master.key group.coordinator.new.enable group.share.max.groups
group.share.persister.class.name inter.broker.protocol.version internal.metadata.delete.delay.millis
internal.metadata.log.segment.bytes internal.metadata.max.batch.size.in.bytes leader.imbalance.per.broker.percentage
log.initial.task.delay.ms log.message.downconversion.enable log.message.format.version log.message.timestamp.difference.max.ms
metadata.log.segment.min.bytes offsets.commit.required.acks password.encoder.secret producer.id.expiration.check.interval.ms
remote.log.index.file.cache.ttl.ms remote.log.manager.task.retry.backoff.max.ms remote.log.manager.task.retry.backoff.ms
remote.log.manager.task.retry.jitter reserved.broker.max.id server.max.startup.time.ms
unclean.leader.election.interval.ms
unstable.feature.versions.enable zookeeper.connect zookeeper.connection.timeout.ms zookeeper.session.timeout.ms
"""


_NOT_TAKEN = "config.providers"  # what it would look up would stay as it is written
_WORDS = {"null": None, '""': ""}


def _rows() -> Iterator[list[str]]:
    return (line.split(" ") for line in _SETTINGS.strip().split("\n"))


@functools.cache
def accepted_options() -> Mapping[str, Option]:
    """Name -> option of each that DescribeConfigs lists."""
    return {
        name: Option("", name, ConfigType[kind.upper()], _WORDS.get(default, default), ACCEPTED, dynamic=bool(dynamic))
        for name, kind, default, *dynamic in _rows()
    }


KNOWN_UNUSED = frozenset((*(row[0] for row in _rows()), *_UNLISTED.split())) - {_NOT_TAKEN}
