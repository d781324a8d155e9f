package payments;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;

/** The control port: what is to go wrong, and when. Where it listens say ONCELOG_CONTROL and ONCELOG_TOKEN. */
final class Oncelog {
    private static final String URL = System.getenv().getOrDefault("ONCELOG_CONTROL", "http://127.0.0.1:9644");
    private static final String TOKEN = System.getenv().getOrDefault("ONCELOG_TOKEN", "");
    private static final HttpClient CLIENT = HttpClient.newHttpClient();
    private static final ObjectMapper JSON = new ObjectMapper();

    private Oncelog() {}

    static JsonNode get(String path) throws Exception {
        return ask("GET", path, "");
    }

    static JsonNode post(String path, String body) throws Exception {
        return ask("POST", path, body);
    }

    static JsonNode delete(String path) throws Exception {
        return ask("DELETE", path, "");
    }

    /** Arms a rule; its id. */
    static String arm(String rule) throws Exception {
        return post("/v1/faults", rule).get("id").asText();
    }

    private static JsonNode ask(String method, String path, String body) throws Exception {
        var request = HttpRequest.newBuilder(URI.create(URL + path)).timeout(Duration.ofSeconds(60));
        request.header("Authorization", "Bearer " + TOKEN).method(method, BodyPublishers.ofString(body));
        var answer = CLIENT.send(request.build(), BodyHandlers.ofString());
        var told = JSON.readTree(answer.body());
        if (answer.statusCode() >= 300) {
            throw new AssertionError(method + " " + path + ": " + told.path("error").asText());
        }
        return told;
    }
}
