import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.*;

/** Scenarios of Kafka's own clients: {@code Clients SCENARIO BOOTSTRAP NAME [ARGUMENT…]} prints one line of JSON facts. */
public class Clients {
    static final int SECONDS = 30;
    static String bootstrap;
    static final Map<String, Object> facts = new TreeMap<>();
    static final Map<String, Object> security = new HashMap<>();

    public static void main(String[] args) throws Exception {
        bootstrap = args[1];
        switch (args[0]) {
            case "codecs" -> codecs(args[2]);
            case "transactions" -> transactions(args[2]);
            case "fencing" -> fencing(args[2]);
            case "copy" -> copy(args[2], args[3]);
            case "group" -> group(args[2], args[3]);
            case "admin" -> admin(args[2]);
            case "commit" -> commit(args[2], args[3]);
            case "open" -> open(args[2], args[3]);
            case "copier" -> copier(args[2], args[3], args[4]);
            case "numbers" -> numbers(args[2], Integer.parseInt(args[3]));
            case "login" -> login(args[2], Long.parseLong(args[3]), Arrays.copyOfRange(args, 4, args.length));
            default -> throw new IllegalArgumentException(args[0]);
        }
        System.out.println(new ObjectMapper().writeValueAsString(facts));
        System.out.flush();
        Runtime.getRuntime().halt(0); // producers of open transactions stay as they are, as after a crash
    }

    static Map<String, Object> settings(Object... pairs) {
        Map<String, Object> settings = new HashMap<>(security);
        settings.put("bootstrap.servers", bootstrap);
        for (int i = 0; i < pairs.length; i += 2) settings.put((String) pairs[i], pairs[i + 1]);
        return settings;
    }

    static KafkaProducer<String, String> producer(Object... pairs) {
        return new KafkaProducer<>(settings(pairs), new StringSerializer(), new StringSerializer());
    }

    static KafkaConsumer<String, String> consumer(Object... pairs) {
        Map<String, Object> settings = settings("auto.offset.reset", "earliest", "enable.auto.commit", "false");
        settings.putAll(settings(pairs));
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    static void create(String topic, int partitions) throws Exception {
        try (Admin admin = Admin.create(settings())) {
            admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1))).all().get();
        }
    }

    /** All values of partition 0 up to its end, as `isolation` sees them. */
    static List<String> values(String topic, String isolation) {
        List<String> values = new ArrayList<>();
        TopicPartition partition = new TopicPartition(topic, 0);
        try (var consumer = consumer("isolation.level", isolation)) {
            consumer.assign(List.of(partition));
            long end = consumer.endOffsets(List.of(partition)).get(partition);
            until(() -> {
                consumer.poll(Duration.ofMillis(100)).forEach(record -> values.add(record.value()));
                return consumer.position(partition) >= end;
            });
        }
        return values;
    }

    static void until(BooleanSupplier condition) {
        long deadline = System.nanoTime() + SECONDS * 1_000_000_000L;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > deadline) throw new AssertionError("not within " + SECONDS + " s; so far " + facts);
        }
    }

    static String nameOf(Throwable problem) {
        return (problem instanceof ExecutionException ? problem.getCause() : problem).getClass().getSimpleName();
    }

    static void codecs(String topic) throws Exception {
        create(topic, 1);
        List<String> sent = new ArrayList<>();
        for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
            try (var producer = producer("compression.type", codec, "linger.ms", 20)) {
                for (int i = 0; i < 50; i++) {
                    sent.add(codec + i);
                    producer.send(new ProducerRecord<>(topic, codec + i));
                }
            }
        }
        facts.put("same", values(topic, "read_uncommitted").equals(sent));
        facts.put("count", sent.size());
    }

    static void transactions(String topic) throws Exception {
        create(topic, 1);
        List<Integer> epochs = new ArrayList<>();
        Set<Long> ids = new HashSet<>();
        try (Admin admin = Admin.create(settings()); var producer = producer("transactional.id", topic)) {
            producer.initTransactions();
            for (int i = 0; i < 6; i++) {
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(topic, "" + i)).get();
                if (i == 0) facts.put("states", states(admin, topic));
                if (i % 2 == 0) producer.commitTransaction(); else producer.abortTransaction();
                var described = admin.describeTransactions(List.of(topic)).description(topic).get();
                epochs.add(described.producerEpoch());
                ids.add(described.producerId());
            }
        }
        facts.put("epochs", epochs);
        facts.put("producer_ids", ids.size());
        facts.put("committed", values(topic, "read_committed"));
        facts.put("uncommitted", values(topic, "read_uncommitted"));
    }

    static Map<String, String> states(Admin admin, String transactionalId) throws Exception {
        Map<String, String> states = new TreeMap<>();
        for (TransactionListing listing : admin.listTransactions().all().get()) {
            if (listing.transactionalId().equals(transactionalId)) states.put("listed", listing.state().toString());
        }
        states.put("described", admin.describeTransactions(List.of(transactionalId)).description(transactionalId).get().state().toString());
        return states;
    }

    static void fencing(String topic) throws Exception {
        create(topic, 1);
        var first = producer("transactional.id", topic);
        first.initTransactions();
        first.beginTransaction();
        first.send(new ProducerRecord<>(topic, "of the first")).get();
        var second = producer("transactional.id", topic);
        second.initTransactions();
        second.beginTransaction();
        second.send(new ProducerRecord<>(topic, "of the second")).get();
        try {
            first.commitTransaction();
        } catch (KafkaException problem) {
            facts.put("first", nameOf(problem));
        }
        second.commitTransaction();
        facts.put("committed", values(topic, "read_committed"));
    }

    /** One committed transaction, by an id another client may have used before. */
    static void commit(String topic, String transactionalId) throws Exception {
        try (var producer = producer("transactional.id", transactionalId)) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, "java")).get();
            producer.commitTransaction();
        }
        facts.put("committed", values(topic, "read_committed"));
    }

    /** A transaction left open. */
    static void open(String topic, String transactionalId) throws Exception {
        var producer = producer("transactional.id", transactionalId, "transaction.timeout.ms", 600_000);
        producer.initTransactions();
        producer.beginTransaction();
        facts.put("offset", producer.send(new ProducerRecord<>(topic, "open")).get().offset());
    }

    /** Many small batches, five requests in flight. */
    static void numbers(String topic, int count) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (var producer = producer("batch.size", 120, "max.in.flight.requests.per.connection", 5, "reconnect.backoff.ms", 10)) {
            for (int i = 0; i < count; i++) sent.add(producer.send(new ProducerRecord<>(topic, "" + i)));
        }
        boolean inOrder = true;
        for (int i = 0; i < count; i++) inOrder &= sent.get(i).get().offset() == i;
        facts.put("in_order", inOrder);
    }

    /** Work for so long with clients that must log in. */
    static void login(String topic, long milliseconds, String[] pairs) throws Exception {
        for (String pair : pairs) security.put(pair.split("=", 2)[0], pair.split("=", 2)[1]);
        create(topic, 1);
        List<String> sent = new ArrayList<>();
        long end = System.nanoTime() + milliseconds * 1_000_000L;
        try (var producer = producer()) {
            while (System.nanoTime() < end) {
                sent.add("" + sent.size());
                producer.send(new ProducerRecord<>(topic, sent.get(sent.size() - 1))).get();
            }
        }
        facts.put("same", values(topic, "read_committed").equals(sent));
    }

    static void copy(String name, String protocol) throws Exception {
        String from = name + "-from", to = name + "-to";
        create(from, 1);
        create(to, 1);
        try (var producer = producer()) {
            for (int i = 0; i < 30; i++) producer.send(new ProducerRecord<>(from, "" + i));
        }
        TopicPartition partition = new TopicPartition(from, 0);
        int rounds = 0;
        try (var producer = producer("transactional.id", name);
                var consumer = consumer("group.id", name, "group.protocol", protocol, "max.poll.records", 10)) {
            consumer.subscribe(List.of(from));
            producer.initTransactions();
            long done = 0;
            while (done < 30) {
                var records = consumer.poll(Duration.ofMillis(200));
                if (records.isEmpty()) continue;
                producer.beginTransaction();
                for (var record : records) {
                    producer.send(new ProducerRecord<>(to, record.value()));
                    done = record.offset() + 1;
                }
                producer.sendOffsetsToTransaction(Map.of(partition, new OffsetAndMetadata(done)), consumer.groupMetadata());
                if (rounds++ == 1) {
                    producer.flush(); // abort drops what was not sent yet
                    producer.abortTransaction();
                    done = consumer.committed(Set.of(partition)).get(partition).offset();
                    consumer.seek(partition, done);
                } else {
                    producer.commitTransaction();
                }
            }
            facts.put("offset", consumer.committed(Set.of(partition)).get(partition).offset());
        }
        facts.put("in_order", values(to, "read_committed").equals(values(from, "read_committed")));
        facts.put("all", values(to, "read_uncommitted").size());
    }

    /** Copies NAME-from to NAME-to, partition by partition, records and offsets in one transaction, until the standard input ends. */
    static void copier(String name, String transactionalId, String protocol) throws Exception {
        var input = CompletableFuture.runAsync(Clients::readInput);
        Map<String, Object> patience = protocol.equals("classic") ? Map.of("session.timeout.ms", 6000, "heartbeat.interval.ms", 1000) : Map.of();
        try (var producer = producer("transactional.id", transactionalId, "transaction.timeout.ms", 5000)) {
            producer.initTransactions();
            while (!input.isDone()) {
                var settings = settings("group.id", name, "group.protocol", protocol, "isolation.level", "read_committed", "auto.offset.reset", "earliest", "enable.auto.commit", "false", "max.poll.records", 50);
                settings.putAll(patience);
                try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
                    consumer.subscribe(List.of(name + "-from"));
                    while (!input.isDone()) copyOnce(name, consumer, producer);
                } catch (ProducerFencedException problem) {
                    throw problem;
                } catch (KafkaException problem) {
                    System.out.println(problem);
                    producer.abortTransaction(); // the next consumer begins at what was committed
                }
            }
        }
    }

    static void readInput() {
        try {
            while (System.in.read() >= 0) { }
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    static void copyOnce(String name, KafkaConsumer<String, String> consumer, KafkaProducer<String, String> producer) {
        var records = consumer.poll(Duration.ofMillis(100));
        if (records.isEmpty()) return;
        producer.beginTransaction();
        Map<TopicPartition, OffsetAndMetadata> ends = new HashMap<>();
        for (var record : records) {
            producer.send(new ProducerRecord<>(name + "-to", record.partition(), null, record.value()));
            ends.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
        }
        producer.sendOffsetsToTransaction(ends, consumer.groupMetadata());
        producer.commitTransaction();
    }

    static void group(String name, String protocol) throws Exception {
        create(name, 4);
        try (var producer = producer()) {
            for (int i = 0; i < 40; i++) producer.send(new ProducerRecord<>(name, i % 4, null, "" + i));
        }
        Set<String> seen = new HashSet<>();
        try (var first = consumer("group.id", name, "group.protocol", protocol); Admin admin = Admin.create(settings())) {
            first.subscribe(List.of(name));
            until(() -> poll(first, seen) == 4 && seen.size() == 40);
            first.commitSync();
            try (var second = consumer("group.id", name, "group.protocol", protocol)) {
                second.subscribe(List.of(name));
                until(() -> poll(first, seen) == 2 & poll(second, seen) == 2);
                var described = admin.describeConsumerGroups(List.of(name)).describedGroups().get(name).get();
                facts.put("type", described.type().toString());
                facts.put("members", described.members().size());
                facts.put("coordinator", described.coordinator().id() >= 0);
            }
            until(() -> poll(first, seen) == 4);
            facts.put("after_leave", first.assignment().size());
            long committed = 0;
            for (var offset : first.committed(first.assignment()).values()) committed += offset.offset();
            facts.put("committed", committed);
        }
        facts.put("seen", seen.size());
    }

    static int poll(KafkaConsumer<String, String> consumer, Set<String> seen) {
        consumer.poll(Duration.ofMillis(100)).forEach(record -> seen.add(record.value()));
        return consumer.assignment().size();
    }

    static void admin(String name) throws Exception {
        try (Admin admin = Admin.create(settings())) {
            admin.createTopics(List.of(new NewTopic(name, 2, (short) 1).configs(Map.of("retention.ms", "123456")))).all().get();
            try {
                admin.createTopics(List.of(new NewTopic(name, 2, (short) 1))).all().get();
            } catch (ExecutionException problem) {
                facts.put("again", nameOf(problem));
            }
            admin.createPartitions(Map.of(name, NewPartitions.increaseTo(3))).all().get();
            until(() -> partitions(admin, name) == 3);
            facts.put("partitions", 3);
            ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, name);
            admin.incrementalAlterConfigs(Map.of(topic, List.of(
                new AlterConfigOp(new ConfigEntry("max.message.bytes", "54321"), AlterConfigOp.OpType.SET),
                new AlterConfigOp(new ConfigEntry("retention.ms", ""), AlterConfigOp.OpType.DELETE)))).all().get();
            Config config = admin.describeConfigs(List.of(topic)).all().get().get(topic);
            facts.put("max.message.bytes", config.get("max.message.bytes").value());
            facts.put("retention.default", config.get("retention.ms").isDefault());
            TopicPartition partition = new TopicPartition(name, 0);
            try (var producer = producer()) {
                for (int i = 0; i < 5; i++) producer.send(new ProducerRecord<>(name, 0, null, "" + i)).get();
            }
            facts.put("producers", admin.describeProducers(List.of(partition)).partitionResult(partition).get().activeProducers().size());
            facts.put("latest", admin.listOffsets(Map.of(partition, OffsetSpec.latest())).partitionResult(partition).get().offset());
            facts.put("low", admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(2))).lowWatermarks().get(partition).get().lowWatermark());
            admin.alterConsumerGroupOffsets(name, Map.of(partition, new OffsetAndMetadata(3, "note"))).all().get();
            var offset = admin.listConsumerGroupOffsets(name).partitionsToOffsetAndMetadata().get().get(partition);
            facts.put("offset", offset.offset() + " " + offset.metadata());
            facts.put("listed", admin.listGroups().all().get().stream().anyMatch(group -> group.groupId().equals(name)));
            admin.deleteConsumerGroupOffsets(name, Set.of(partition)).all().get();
            facts.put("offsets_left", admin.listConsumerGroupOffsets(name).partitionsToOffsetAndMetadata().get().size());
            var fenced = producer("transactional.id", name);
            fenced.initTransactions();
            fenced.beginTransaction();
            fenced.send(new ProducerRecord<>(name, 1, null, "never")).get();
            admin.fenceProducers(List.of(name)).all().get();
            try {
                fenced.commitTransaction();
            } catch (KafkaException problem) {
                facts.put("fenced", nameOf(problem));
            }
            facts.put("log_dirs", admin.describeLogDirs(List.of(admin.describeCluster().nodes().get().iterator().next().id())).allDescriptions().get().size());
            var features = admin.describeFeatures().featureMetadata().get().finalizedFeatures();
            facts.put("transaction.version", features.get("transaction.version").maxVersionLevel());
            admin.deleteTopics(List.of(name)).all().get();
            until(() -> partitions(admin, name) == 0);
        }
    }

    static int partitions(Admin admin, String topic) {
        try {
            return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size();
        } catch (InterruptedException | ExecutionException problem) {
            return 0;
        }
    }
}
