import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.*;

/** Kafka's own share consumer: {@code ShareGroups SCENARIO BOOTSTRAP NAME} prints one line of JSON facts. */
public class ShareGroups {
    static final int SECONDS = 60;
    static String bootstrap;
    static String name;
    static final Map<String, Object> facts = new TreeMap<>();

    public static void main(String[] args) throws Exception {
        bootstrap = args[1];
        name = args[2];
        switch (args[0]) {
            case "implicit" -> implicit();
            case "explicit" -> explicit();
            case "renew" -> renew();
            case "members" -> members();
            case "committed" -> committed();
            default -> throw new IllegalArgumentException(args[0]);
        }
        System.out.println(new ObjectMapper().writeValueAsString(facts));
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static Map<String, Object> settings(Object... pairs) {
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", bootstrap));
        for (int i = 0; i < pairs.length; i += 2) settings.put((String) pairs[i], pairs[i + 1]);
        return settings;
    }

    static KafkaShareConsumer<String, String> consumer(Object... pairs) {
        Map<String, Object> settings = settings("group.id", name);
        settings.putAll(settings(pairs));
        return new KafkaShareConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    static void begin(int partitions, String... configs) throws Exception {
        try (Admin admin = Admin.create(settings())) {
            admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1))).all().get();
            List<AlterConfigOp> set = new ArrayList<>();
            set.add(new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET));
            for (int i = 0; i < configs.length; i += 2)
                set.add(new AlterConfigOp(new ConfigEntry(configs[i], configs[i + 1]), AlterConfigOp.OpType.SET));
            admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, name), set)).all().get();
        }
    }

    static void produce(int from, int to, Object... pairs) {
        try (var producer = new KafkaProducer<>(settings(pairs), new StringSerializer(), new StringSerializer())) {
            for (int i = from; i < to; i++) producer.send(new ProducerRecord<>(name, "" + i, "" + i));
        }
    }

    static void until(BooleanSupplier condition) {
        long deadline = System.nanoTime() + SECONDS * 1_000_000_000L;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > deadline) throw new AssertionError("not within " + SECONDS + " s; so far " + facts);
        }
    }

    /** Where the group stands: what is left of all partitions. */
    static long lag() throws Exception {
        try (Admin admin = Admin.create(settings())) {
            var offsets = admin.listShareGroupOffsets(Map.of(name, new ListShareGroupOffsetsSpec())).partitionsToOffsetInfo(name).get();
            return offsets.values().stream().mapToLong(info -> info.lag().orElse(-1L)).sum();
        }
    }

    static void implicit() throws Exception {
        begin(3);
        produce(0, 300);
        Map<String, Integer> seen = new TreeMap<>();
        try (var consumer = consumer()) {
            consumer.subscribe(List.of(name));
            until(() -> {
                consumer.poll(Duration.ofMillis(200)).forEach(record -> seen.merge(record.value(), 1, Integer::sum));
                return seen.size() == 300;
            });
            facts.put("committed", consumer.commitSync().values().stream().allMatch(Optional::isEmpty));
        }
        facts.put("once", seen.values().stream().allMatch(times -> times == 1));
        facts.put("lag", lag());
    }

    static void explicit() throws Exception {
        begin(1);
        produce(0, 30);
        Map<Integer, List<Integer>> deliveries = new TreeMap<>();
        try (var consumer = consumer("share.acknowledgement.mode", "explicit")) {
            consumer.subscribe(List.of(name));
            until(() -> {
                for (var record : consumer.poll(Duration.ofMillis(200))) {
                    int number = Integer.parseInt(record.value());
                    deliveries.computeIfAbsent(number, n -> new ArrayList<>()).add((int) record.deliveryCount().get());
                    boolean first = deliveries.get(number).size() == 1;
                    if (number % 3 == 0) consumer.acknowledge(record, AcknowledgeType.REJECT);
                    else if (number % 3 == 1 && first) consumer.acknowledge(record, AcknowledgeType.RELEASE);
                    else consumer.acknowledge(record, AcknowledgeType.ACCEPT);
                }
                consumer.commitSync();
                return deliveries.size() == 30 && deliveries.values().stream().mapToInt(List::size).sum() == 40;
            });
        }
        facts.put("released", deliveries.get(1));
        facts.put("rejected", deliveries.get(3));
        facts.put("lag", lag());
    }

    static void renew() throws Exception {
        begin(1, "share.record.lock.duration.ms", "15000");
        produce(0, 1);
        try (var one = consumer("share.acknowledgement.mode", "explicit"); var two = consumer("share.acknowledgement.mode", "explicit")) {
            one.subscribe(List.of(name));
            List<ConsumerRecord<String, String>> held = new ArrayList<>();
            until(() -> {
                one.poll(Duration.ofMillis(200)).forEach(held::add);
                return !held.isEmpty();
            });
            facts.put("lock", one.acquisitionLockTimeoutMs().get());
            two.subscribe(List.of(name));
            long until = System.nanoTime() + 20_000_000_000L; // beyond the lock
            int renewals = 0, others = 0;
            while (System.nanoTime() < until) {
                one.acknowledge(held.get(0), AcknowledgeType.RENEW);
                one.commitSync();
                for (var record : one.poll(Duration.ofMillis(500))) others += record.offset() == 0 ? 0 : 1;
                renewals++;
                others += two.poll(Duration.ofMillis(2000)).count();
            }
            one.acknowledge(held.get(0), AcknowledgeType.ACCEPT);
            facts.put("accepted", one.commitSync().values().stream().allMatch(Optional::isEmpty));
            facts.put("others", others);
            facts.put("renewed", renewals > 3);
        }
        facts.put("lag", lag());
    }

    static void members() throws Exception {
        begin(2);
        Map<String, Integer> seen = new ConcurrentSkipListMap<>();
        Set<Integer> busy = ConcurrentHashMap.newKeySet();
        List<Thread> threads = new ArrayList<>();
        for (int member = 0; member < 5; member++) {
            int number = member;
            threads.add(new Thread(() -> {
                try (var consumer = consumer("max.poll.records", "20")) {
                    consumer.subscribe(List.of(name));
                    until(() -> {
                        consumer.poll(Duration.ofMillis(200)).forEach(record -> {
                            seen.merge(record.value(), 1, Integer::sum);
                            busy.add(number);
                        });
                        consumer.commitSync();
                        return seen.size() == 2000;
                    });
                }
            }));
        }
        threads.forEach(Thread::start);
        until(() -> described() == 5);
        produce(0, 2000, "batch.size", 200, "linger.ms", 1);
        for (Thread thread : threads) thread.join();
        facts.put("seen", seen.size());
        facts.put("once", seen.values().stream().allMatch(times -> times == 1));
        facts.put("several", busy.size() > 1);
        facts.put("lag", lag());
    }

    static int described() {
        try (Admin admin = Admin.create(settings())) {
            return (int) admin.describeShareGroups(List.of(name)).describedGroups().get(name).get().members().stream()
                .filter(member -> !member.assignment().topicPartitions().isEmpty()).count();
        } catch (Exception absent) {
            return 0;
        }
    }

    static void committed() throws Exception {
        begin(1, "share.isolation.level", "read_committed");
        try (var producer = new KafkaProducer<>(settings("transactional.id", name), new StringSerializer(), new StringSerializer())) {
            producer.initTransactions();
            for (int i = 0; i < 6; i++) {
                producer.beginTransaction();
                for (int j = 0; j < 5; j++) producer.send(new ProducerRecord<>(name, i + "-" + j));
                if (i % 2 == 0) producer.commitTransaction();
                else producer.abortTransaction();
            }
        }
        List<String> seen = new ArrayList<>();
        try (var consumer = consumer()) {
            consumer.subscribe(List.of(name));
            until(() -> {
                consumer.poll(Duration.ofMillis(200)).forEach(record -> seen.add(record.value()));
                return seen.size() >= 15;
            });
            consumer.poll(Duration.ofMillis(1000)).forEach(record -> seen.add(record.value()));
        }
        facts.put("seen", seen.size());
        facts.put("aborted", seen.stream().filter(value -> (value.charAt(0) - '0') % 2 == 1).count());
        facts.put("lag", lag());
    }
}
