import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Load from Kafka's own clients.
 *
 * <pre>
 * Load transactions BOOTSTRAP TOPIC WARM_SECONDS SECONDS PRODUCERS
 * Load copy BOOTSTRAP TOPIC WARM_SECONDS SECONDS RECORDS
 * </pre>
 *
 * {@code copy} consumes TOPIC and produces to {@code TOPIC-copy}, RECORDS in each transaction. Prints {@code begin}, and at the end: how many,
 * seconds, p50 and p99 of one in microseconds.
 */
public class Load {
    static String bootstrap;
    static volatile boolean ended;
    static volatile long begin = Long.MAX_VALUE;
    static final ConcurrentLinkedQueue<Long> times = new ConcurrentLinkedQueue<>();
    static final AtomicReference<Throwable> failure = new AtomicReference<>();

    interface Work {
        void once() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        bootstrap = args[1];
        double warm = Double.parseDouble(args[3]);
        double seconds = Double.parseDouble(args[4]);
        int argument = Integer.parseInt(args[5]);
        List<Work> works =
                switch (args[0]) {
                    case "transactions" -> transactions(args[2], argument);
                    case "copy" -> List.of(copy(args[2], argument));
                    default -> throw new IllegalArgumentException(args[0]);
                };
        List<Thread> threads = new ArrayList<>();
        var started = new CountDownLatch(works.size());
        for (Work work : works) {
            Thread thread = new Thread(() -> againAndAgain(work, started));
            thread.setDaemon(true);
            thread.start();
            threads.add(thread);
        }
        while (!ended && !started.await(10, TimeUnit.MILLISECONDS)) {}
        rest(warm);
        begin = System.nanoTime();
        System.out.println("begin");
        System.out.flush();
        rest(seconds);
        double taken = (System.nanoTime() - begin) / 1e9;
        long[] waits = times.stream().mapToLong(Long::longValue).sorted().toArray();
        ended = true;
        for (Thread thread : threads) thread.join(60_000);
        if (failure.get() != null) {
            failure.get().printStackTrace();
            System.exit(1);
        }
        if (waits.length == 0) {
            System.err.println("nothing was done in time");
            System.exit(1);
        }
        System.out.printf("%d %.6f %d %d%n", waits.length, taken, waits[waits.length / 2] / 1000, waits[waits.length * 99 / 100] / 1000);
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void rest(double seconds) throws InterruptedException {
        long until = System.nanoTime() + (long) (seconds * 1e9);
        while (!ended && System.nanoTime() < until) Thread.sleep(1);
    }

    static void againAndAgain(Work work, CountDownLatch started) {
        try {
            work.once(); // joins groups and finds coordinators
            started.countDown();
            while (!ended) {
                long began = System.nanoTime();
                work.once();
                long now = System.nanoTime();
                if (now >= begin) times.add(now - began);
            }
        } catch (Throwable problem) {
            failure.compareAndSet(null, problem);
            ended = true;
        }
    }

    static KafkaProducer<byte[], byte[]> producer(String transactionalId) {
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", bootstrap, "transactional.id", transactionalId));
        settings.put("linger.ms", 0);
        var made = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        made.initTransactions();
        return made;
    }

    static List<Work> transactions(String topic, int producers) {
        byte[] value = new byte[100];
        Arrays.fill(value, (byte) 'x');
        List<Work> works = new ArrayList<>();
        for (int number = 0; number < producers; number++) {
            var producer = producer("bench-" + number);
            int partition = number;
            works.add(
                    () -> {
                        producer.beginTransaction();
                        producer.send(new ProducerRecord<>(topic, partition, null, value));
                        producer.commitTransaction();
                    });
        }
        return works;
    }

    static Work copy(String topic, int records) {
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", bootstrap, "group.id", "bench-copy"));
        settings.putAll(Map.of("auto.offset.reset", "earliest", "enable.auto.commit", "false", "isolation.level", "read_committed"));
        settings.put("max.poll.records", records);
        var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        consumer.subscribe(List.of(topic));
        var producer = producer("bench-copy");
        var waiting = new ArrayDeque<ConsumerRecord<byte[], byte[]>>(); // a poll ends where a fetch ended
        return () -> {
            long patience = System.nanoTime() + 60_000_000_000L;
            while (waiting.size() < records) {
                consumer.poll(Duration.ofSeconds(1)).forEach(waiting::add);
                if (System.nanoTime() > patience) throw new IllegalStateException(waiting.size() + " records came");
            }
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            producer.beginTransaction();
            for (int i = 0; i < records; i++) {
                var record = waiting.remove();
                producer.send(new ProducerRecord<>(topic + "-copy", 0, null, new String(record.value()).toUpperCase().getBytes()));
                offsets.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
            }
            producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
            producer.commitTransaction();
        };
    }
}
