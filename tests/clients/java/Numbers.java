import java.util.*;
import java.util.stream.*;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.*;

/** A Kafka Connect source: each of {@code counters} counts from 0 up to {@code end} in records of key "counter" and value "number". */
public class Numbers extends SourceConnector {
    private Map<String, String> settings;

    @Override public void start(Map<String, String> settings) { this.settings = settings; }

    @Override public Class<? extends Task> taskClass() { return Counting.class; }

    @Override public List<Map<String, String>> taskConfigs(int most) {
        int counters = Integer.parseInt(settings.get("counters"));
        return IntStream.range(0, Math.min(most, counters)).mapToObj(task -> {
            Map<String, String> own = new HashMap<>(settings);
            own.put("own", IntStream.range(0, counters).filter(n -> n % most == task).mapToObj(String::valueOf).collect(Collectors.joining(",")));
            return own;
        }).toList();
    }

    @Override public void stop() { }

    @Override public ConfigDef config() {
        return new ConfigDef()
            .define("topic", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "where to")
            .define("counters", ConfigDef.Type.INT, ConfigDef.Importance.HIGH, "how many count")
            .define("end", ConfigDef.Type.LONG, ConfigDef.Importance.HIGH, "where they end");
    }

    @Override public String version() { return "1"; }

    @Override public ExactlyOnceSupport exactlyOnceSupport(Map<String, String> settings) { return ExactlyOnceSupport.SUPPORTED; }

    public static class Counting extends SourceTask {
        private static final int AT_ONCE = 5;
        private final Map<String, Long> next = new TreeMap<>();
        private String topic;
        private long end;

        @Override public void start(Map<String, String> settings) {
            topic = settings.get("topic");
            end = Long.parseLong(settings.get("end"));
            for (String counter : settings.get("own").split(",")) {
                Map<String, Object> at = context.offsetStorageReader().offset(Map.of("counter", counter));
                next.put(counter, at == null ? 0 : (Long) at.get("next"));
            }
        }

        @Override public List<SourceRecord> poll() throws InterruptedException {
            List<SourceRecord> records = new ArrayList<>();
            next.replaceAll((counter, number) -> {
                for (int i = 0; i < AT_ONCE && number < end; i++, number++) {
                    records.add(new SourceRecord(Map.of("counter", counter), Map.of("next", number + 1), topic, Schema.STRING_SCHEMA, counter, Schema.STRING_SCHEMA, "" + number));
                }
                return number;
            });
            if (!records.isEmpty()) return records;
            synchronized (this) { wait(100); } // a source that has nothing says so at its leisure
            return null;
        }

        @Override public void stop() { }

        @Override public String version() { return "1"; }
    }
}
