package payments;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The service, with what a cluster does to it once a year happening at the worst moment. */
class PaymentsTest {
    private static final String BOOTSTRAP = System.getenv().getOrDefault("ONCELOG_BOOTSTRAP", "127.0.0.1:9092");
    private static final Path RULES = Path.of("..", "rules"); // shared with the tests in other languages
    private static final List<String> ORDERS = IntStream.range(0, 20).mapToObj(number -> "order-" + number).toList();
    private final Payments service = new Payments(BOOTSTRAP);
    private final Thread thread = new Thread(service, "payments");

    @BeforeEach
    void fresh() throws Exception {
        Oncelog.post("/v1/reset", "{}");
        try (var admin = Admin.create(Map.of("bootstrap.servers", BOOTSTRAP))) {
            admin.createTopics(List.of(topic("orders"), topic("payments"))).all().get();
        }
    }

    @AfterEach
    void stop() throws Exception {
        service.stop();
        thread.join(60_000);
        assertFalse(thread.isAlive());
        Oncelog.delete("/v1/faults"); // refused when a rule with must_hit hit nothing
    }

    @Test
    void theAnswerToACommitIsLost() throws Exception {
        Oncelog.arm(Files.readString(RULES.resolve("lost-answer.json")));
        order();
        thread.start();
        allPaidOnce();
    }

    @Test
    void theServicePausesForLongerThanItsSession() throws Exception {
        order();
        var pause = Oncelog.arm("""
                {"match": {"api": "TxnOffsetCommit", "group": "payments"}, "action": {"type": "hold"}, "must_hit": true}""");
        thread.start();
        until(() -> Oncelog.get("/v1/faults/" + pause).get("hits").asInt() == 1);
        Oncelog.post("/v1/clock/advance", "{\"seconds\": 50}"); // session.timeout.ms is 45 s, transaction.timeout.ms 60 s
        assertTrue(Oncelog.get("/v1/state").at("/groups/payments/members").isEmpty());
        Oncelog.post("/v1/faults/" + pause + "/release", "{}");
        allPaidOnce();
    }

    private static void order() {
        var settings = Map.<String, Object>of("bootstrap.servers", BOOTSTRAP);
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            ORDERS.forEach(order -> producer.send(new ProducerRecord<>("orders", order, order)));
        }
    }

    private static void allPaidOnce() throws Exception {
        var paid = new ArrayList<String>();
        var settings = Map.<String, Object>of("bootstrap.servers", BOOTSTRAP, "isolation.level", "read_committed");
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(List.of(new TopicPartition("payments", 0), new TopicPartition("payments", 1)));
            consumer.seekToBeginning(consumer.assignment());
            until(() -> {
                consumer.poll(Duration.ofMillis(50)).forEach(payment -> paid.add(payment.value()));
                return paid.size() >= ORDERS.size() && allEnded();
            });
            consumer.poll(Duration.ofMillis(500)).forEach(payment -> paid.add(payment.value())); // one too many
        }
        assertEquals(ORDERS.stream().map(order -> "paid " + order).sorted().toList(), paid.stream().sorted().toList());
    }

    private static boolean allEnded() throws Exception {
        var told = new ArrayList<String>();
        Oncelog.get("/v1/state").get("transactions").forEach(each -> told.add(each.get("state").asText()));
        return !told.isEmpty() && told.stream().allMatch(state -> state.startsWith("Complete"));
    }

    private static void until(Callable<Boolean> condition) throws Exception {
        var deadline = Instant.now().plusSeconds(60);
        while (!condition.call()) {
            assertTrue(Instant.now().isBefore(deadline), "not within a minute: " + Oncelog.get("/v1/state"));
            Thread.sleep(10);
        }
    }

    private static NewTopic topic(String name) {
        return new NewTopic(name, 2, (short) 1);
    }
}
