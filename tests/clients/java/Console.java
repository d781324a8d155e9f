import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.acl.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.serialization.*;

/** What web consoles (AKHQ, Kafbat UI, Redpanda Console) ask a cluster for: {@code Console BOOTSTRAP NAME} prints a line of JSON, refusals by name. */
public class Console {
    static final Map<String, Object> facts = new TreeMap<>();

    public static void main(String[] args) throws Exception {
        String bootstrap = args[0], name = args[1];
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap);
        try (Admin admin = Admin.create(settings)) {
            prepare(admin, settings, name);
            ask(admin, name);
        }
        System.out.println(new ObjectMapper().writeValueAsString(facts));
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    /** A topic with records, a group with a lag, a transaction that is open. */
    static void prepare(Admin admin, Map<String, Object> settings, String name) throws Exception {
        admin.createTopics(List.of(new NewTopic(name, 2, (short) 1).configs(Map.of("retention.ms", "3600000")))).all().get();
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int i = 0; i < 10; i++) producer.send(new ProducerRecord<>(name, 0, null, "" + i)).get();
        }
        admin.alterConsumerGroupOffsets(name, Map.of(new TopicPartition(name, 0), new OffsetAndMetadata(4))).all().get();
        Map<String, Object> transactional = new HashMap<>(settings);
        transactional.put("transactional.id", name);
        var open = new KafkaProducer<>(transactional, new StringSerializer(), new StringSerializer());
        open.initTransactions();
        open.beginTransaction();
        open.send(new ProducerRecord<>(name, 1, null, "open")).get();
    }

    static void fact(String what, Callable<Object> call) throws Exception {
        try {
            facts.put(what, call.call());
        } catch (ExecutionException problem) {
            facts.put(what, problem.getCause().getClass().getSimpleName());
        } catch (KafkaException problem) {
            facts.put(what, problem.getClass().getSimpleName());
        }
    }

    static void ask(Admin admin, String name) throws Exception {
        TopicPartition first = new TopicPartition(name, 0), second = new TopicPartition(name, 1);
        int node = admin.describeCluster().nodes().get().iterator().next().id();
        ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, "" + node), topic = new ConfigResource(ConfigResource.Type.TOPIC, name);
        fact("cluster", () -> {
            var cluster = admin.describeCluster(new DescribeClusterOptions().includeAuthorizedOperations(true));
            return List.of(cluster.clusterId().get().length(), cluster.nodes().get().size(), cluster.controller().get().id() == node, sorted(cluster.authorizedOperations().get()));
        });
        fact("features", () -> new TreeMap<>(admin.describeFeatures().featureMetadata().get().finalizedFeatures().entrySet().stream().filter(f -> !f.getKey().equals("metadata.version")).collect(Collectors.toMap(f -> f.getKey(), f -> "" + f.getValue()))));
        fact("topics", () -> admin.listTopics(new ListTopicsOptions().listInternal(true)).listings().get().stream().filter(t -> t.isInternal()).map(t -> t.name()).sorted().toList());
        fact("topic", () -> {
            var found = admin.describeTopics(List.of(name), new DescribeTopicsOptions().includeAuthorizedOperations(true)).allTopicNames().get().get(name);
            return List.of(found.isInternal(), sorted(found.authorizedOperations()), found.partitions().stream().map(p -> p.partition() + " " + (p.leader().id() == node) + " " + p.replicas().size() + " " + p.isr().size() + " " + p.elr() + " " + p.lastKnownElr()).toList());
        });
        fact("topic configs", () -> configs(admin, topic, true));
        fact("broker configs", () -> configs(admin, broker, false));
        fact("default broker configs", () -> configs(admin, new ConfigResource(ConfigResource.Type.BROKER, ""), true));
        fact("log dirs", () -> admin.describeLogDirs(List.of(node)).allDescriptions().get().get(node).values().stream().map(d -> d.error() + " " + d.replicaInfos().entrySet().stream().filter(r -> r.getKey().topic().equals(name)).map(r -> r.getKey().partition() + ":" + (r.getValue().size() > 0) + ":" + r.getValue().offsetLag() + ":" + r.getValue().isFuture()).sorted().toList() + " " + (d.totalBytes().getAsLong() > 0) + " " + (d.usableBytes().getAsLong() > 0)).toList());
        fact("replica log dirs", () -> admin.describeReplicaLogDirs(List.of(new TopicPartitionReplica(name, 0, node))).all().get().values().stream().map(r -> r.getCurrentReplicaOffsetLag() + " " + r.getFutureReplicaLogDir()).toList());
        fact("groups", () -> admin.listGroups().all().get().stream().filter(g -> g.groupId().equals(name)).map(g -> g.toString().replace(name, "NAME")).toList());
        fact("consumer groups", () -> admin.listGroups(ListGroupsOptions.forConsumerGroups()).all().get().stream().filter(g -> g.groupId().equals(name)).map(g -> g.toString().replace(name, "NAME")).toList());
        fact("group", () -> {
            var found = admin.describeConsumerGroups(List.of(name), new DescribeConsumerGroupsOptions().includeAuthorizedOperations(true)).all().get().get(name);
            return List.of("" + found.groupState(), found.isSimpleConsumerGroup(), "" + found.type(), found.members().size(), found.partitionAssignor(), found.coordinator().id() == node, sorted(found.authorizedOperations()));
        });
        fact("unknown group", () -> "" + admin.describeConsumerGroups(List.of(name + "-none")).all().get());
        fact("group offsets", () -> admin.listConsumerGroupOffsets(name).partitionsToOffsetAndMetadata().get().toString().replace(name, "NAME"));
        fact("offsets", () -> {
            Map<String, Long> offsets = new TreeMap<>();
            for (var spec : Map.of("earliest", OffsetSpec.earliest(), "latest", OffsetSpec.latest(), "max", OffsetSpec.maxTimestamp(), "future", OffsetSpec.forTimestamp(Long.MAX_VALUE), "local", OffsetSpec.earliestLocal(), "tiered", OffsetSpec.latestTiered()).entrySet()) {
                offsets.put(spec.getKey(), admin.listOffsets(Map.of(first, spec.getValue())).partitionResult(first).get().offset());
            }
            return offsets;
        });
        fact("committed end", () -> admin.listOffsets(Map.of(second, OffsetSpec.latest()), new ListOffsetsOptions(IsolationLevel.READ_COMMITTED)).partitionResult(second).get().offset());
        fact("acls", () -> admin.describeAcls(AclBindingFilter.ANY).values().get().size());
        fact("quotas", () -> admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get().size());
        fact("scram", () -> admin.describeUserScramCredentials().all().get().size());
        fact("tokens", () -> admin.describeDelegationToken().delegationTokens().get().size());
        fact("transactions", () -> admin.listTransactions().all().get().stream().filter(t -> t.transactionalId().equals(name)).map(t -> "" + t.state()).toList());
        fact("long transactions", () -> admin.listTransactions(new ListTransactionsOptions().filterOnDuration(3_600_000)).all().get().stream().filter(t -> t.transactionalId().equals(name)).count());
        fact("transactions by pattern", () -> admin.listTransactions(new ListTransactionsOptions().filterOnTransactionalIdPattern(".*console.*")).all().get().stream().filter(t -> t.transactionalId().equals(name)).count());
        fact("transaction", () -> {
            var found = admin.describeTransactions(List.of(name)).description(name).get();
            return List.of("" + found.state(), found.producerEpoch(), found.transactionTimeoutMs(), found.topicPartitions().toString().replace(name, "NAME"));
        });
        fact("producers", () -> admin.describeProducers(List.of(second)).partitionResult(second).get().activeProducers().stream().map(p -> p.lastSequence() + " " + p.coordinatorEpoch() + " " + p.currentTransactionStartOffset()).toList());
        fact("quorum", () -> {
            var found = admin.describeMetadataQuorum().quorumInfo().get();
            return List.of(found.leaderId() == node, found.voters().size(), found.observers().size());
        });
        fact("reassignments", () -> admin.listPartitionReassignments().reassignments().get().size());
        fact("elect", () -> admin.electLeaders(ElectionType.PREFERRED, Set.of(first)).partitions().get().values().stream().map(e -> e.map(x -> x.getClass().getSimpleName()).orElse("none")).toList());
        fact("config resources", () -> admin.listConfigResources().all().get().stream().map(r -> "" + r.type()).distinct().sorted().toList());
        fact("move replica", () -> {
            String there = admin.describeReplicaLogDirs(List.of(new TopicPartitionReplica(name, 0, node))).all().get().values().iterator().next().getCurrentReplicaLogDir();
            return "" + admin.alterReplicaLogDirs(Map.of(new TopicPartitionReplica(name, 0, node), there)).all().get();
        });
        fact("share groups", () -> "" + admin.describeShareGroups(List.of(name)).all().get());
        fact("streams groups", () -> "" + admin.describeStreamsGroups(List.of(name)).all().get());
        fact("classic groups", () -> admin.describeClassicGroups(List.of(name)).all().get().get(name).toString().replace(name, "NAME").replaceAll("coordinator=[^)]*\\)", "").replaceAll("127.0.0.1:\\d+", ""));
        fact("loggers", () -> admin.describeConfigs(List.of(new ConfigResource(ConfigResource.Type.BROKER_LOGGER, "" + node))).all().get().values().iterator().next().entries().stream().anyMatch(e -> e.name().equals("root")));
        fact("delete offsets", () -> "" + admin.deleteConsumerGroupOffsets(name, Set.of(first)).all().get());
        fact("delete group", () -> "" + admin.deleteConsumerGroups(List.of(name)).all().get());
        fact("abort", () -> {
            var producer = admin.describeProducers(List.of(second)).partitionResult(second).get().activeProducers().get(0);
            return "" + admin.abortTransaction(new AbortTransactionSpec(second, producer.producerId(), (short) producer.producerEpoch(), producer.coordinatorEpoch().orElse(0))).all().get();
        });
        fact("delete topic", () -> "" + admin.deleteTopics(List.of(name)).all().get());
    }

    /** Names and what is known of them; values only where they do not depend on the broker. */
    static Map<String, String> configs(Admin admin, ConfigResource resource, boolean values) throws Exception {
        Map<String, String> found = new TreeMap<>();
        var options = new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
        for (ConfigEntry entry : admin.describeConfigs(List.of(resource), options).all().get().get(resource).entries()) {
            String synonyms = entry.synonyms().stream().map(s -> s.name() + ":" + s.source()).collect(Collectors.joining(","));
            found.put(entry.name(), entry.type() + " " + entry.isReadOnly() + " " + entry.isSensitive() + (values ? " " + entry.value() + " " + entry.source() + " " + synonyms + " " + (entry.documentation() != null) : ""));
        }
        return found;
    }

    static String sorted(Set<AclOperation> operations) {
        return operations == null ? "none" : new TreeSet<>(operations).toString();
    }
}
