import java.time.Duration;
import java.util.*;
import org.apache.kafka.common.serialization.*;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;

/**
 * One instance of a Kafka Streams application: {@code WordCounts BOOTSTRAP NAME FOLDER [KEY=VALUE…]}. It prints its states, and ends when its
 * standard input does.
 *
 * <p>The words of NAME-lines are counted as a whole and by minute of record time: two stores with changelogs behind repartition topics. Nothing
 * is cached, so each record makes its own update: a word that came n times is told as 1, 2, … n, whatever was killed on the way.
 */
public class WordCounts {
    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        settings.putAll(Map.of(
            "bootstrap.servers", args[0],
            "application.id", args[1],
            "state.dir", args[2],
            "processing.guarantee", "exactly_once_v2",
            "num.stream.threads", "2",
            "statestore.cache.max.bytes", "0",
            "default.key.serde", Serdes.StringSerde.class,
            "default.value.serde", Serdes.StringSerde.class));
        for (String pair : Arrays.asList(args).subList(3, args.length)) settings.put(pair.split("=", 2)[0], pair.split("=", 2)[1]);
        KafkaStreams streams = new KafkaStreams(topology(args[1]), settings);
        streams.setStateListener((now, before) -> System.out.println(now));
        streams.start();
        while (System.in.read() >= 0) { }
        System.out.println("closed " + streams.close(Duration.ofSeconds(30)));
    }

    static Topology topology(String name) {
        StreamsBuilder builder = new StreamsBuilder();
        KGroupedStream<String, String> words = builder.<String, String>stream(name + "-lines")
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word, Grouped.as("words"));
        words.count(Materialized.as("counts"))
            .toStream()
            .to(name + "-counts", Produced.with(Serdes.String(), Serdes.Long()));
        words.windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofMinutes(1), Duration.ofDays(1)))
            .count(Materialized.as("minutes"))
            .toStream((windowed, count) -> windowed.key() + "@" + windowed.window().start())
            .to(name + "-minutes", Produced.with(Serdes.String(), Serdes.Long()));
        return builder.build();
    }
}
