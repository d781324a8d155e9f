package payments

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"testing"
)

// broker is the control port: what is to go wrong, and when. Where it listens say ONCELOG_CONTROL and ONCELOG_TOKEN.
type broker struct{ t *testing.T }

func (b broker) ask(method, path, body string, told any) {
	b.t.Helper()
	request, err := http.NewRequest(method, or("ONCELOG_CONTROL", "http://127.0.0.1:9644")+path, bytes.NewBufferString(body))
	if err != nil {
		b.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("ONCELOG_TOKEN"))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		var wrong struct{ Error string }
		_ = json.NewDecoder(answer.Body).Decode(&wrong)
		b.t.Fatalf("%s %s: %s", method, path, wrong.Error)
	}
	if told != nil {
		if err := json.NewDecoder(answer.Body).Decode(told); err != nil {
			b.t.Fatal(err)
		}
	}
}

// arm arms a rule and returns its id.
func (b broker) arm(rule string) string {
	b.t.Helper()
	var armed struct{ ID string }
	b.ask("POST", "/v1/faults", rule, &armed)
	return armed.ID
}

func (b broker) hits(id string) int {
	b.t.Helper()
	var rule struct{ Hits int }
	b.ask("GET", "/v1/faults/"+id, "", &rule)
	return rule.Hits
}

type state struct {
	Groups       map[string]struct{ Members []string }
	Transactions map[string]struct{ State string }
}

func (b broker) state() (told state) {
	b.t.Helper()
	b.ask("GET", "/v1/state", "", &told)
	return told
}

func or(name, usual string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return usual
}
