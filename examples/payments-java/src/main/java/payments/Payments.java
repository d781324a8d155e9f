package payments;

import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Takes orders, writes payments: each order is paid once, whatever fails meanwhile.
 *
 * <p>An order's payment and the offset behind the order are one transaction. Where that fails for good (fenced, thrown out of the
 * group) the service begins again as a new instance, which aborts what is open, where the last committed transaction ended.
 */
public final class Payments implements Runnable {
    private static final System.Logger LOG = System.getLogger("payments");
    private final String bootstrap;
    private volatile boolean stopping;

    public Payments(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    @Override
    public void run() {
        while (!stopping) {
            try (var producer = producer(); var consumer = consumer()) {
                producer.initTransactions();
                consumer.subscribe(List.of("orders"));
                while (!stopping) {
                    pay(consumer, producer);
                }
            } catch (KafkaException failed) {
                LOG.log(Level.WARNING, "a new instance goes on: " + failed);
            }
        }
    }

    /** Ends {@link #run} after the transaction that is under way. */
    public void stop() {
        stopping = true;
    }

    private static void pay(KafkaConsumer<String, String> consumer, KafkaProducer<String, String> producer) {
        var orders = consumer.poll(Duration.ofMillis(100));
        if (orders.isEmpty()) {
            return;
        }
        producer.beginTransaction();
        for (var order : orders) {
            producer.send(new ProducerRecord<>("payments", order.key(), "paid " + order.value()));
        }
        producer.sendOffsetsToTransaction(orders.nextOffsets(), consumer.groupMetadata());
        commit(producer);
    }

    /** Asks again while nobody knows how it ended: the coordinator answers as it did the first time. */
    private static void commit(KafkaProducer<String, String> producer) {
        while (true) {
            try {
                producer.commitTransaction();
                return;
            } catch (TimeoutException unknown) {
                LOG.log(Level.INFO, "the commit is not known to have ended: " + unknown);
            }
        }
    }

    private KafkaConsumer<String, String> consumer() {
        var settings = common();
        settings.put("group.id", "payments");
        settings.put("enable.auto.commit", false);
        settings.put("auto.offset.reset", "earliest");
        settings.put("isolation.level", "read_committed");
        settings.put("max.poll.records", 5);
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    private KafkaProducer<String, String> producer() {
        var settings = common();
        settings.put("transactional.id", "payments");
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    private Map<String, Object> common() {
        return new HashMap<>(Map.of("bootstrap.servers", bootstrap, "retry.backoff.ms", 50));
    }
}
