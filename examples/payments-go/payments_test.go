package payments

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// The service, with what a cluster does to it once a year happening at the worst moment.

var (
	bootstrap = or("ONCELOG_BOOTSTRAP", "127.0.0.1:9092")
	rules     = filepath.Join("..", "rules") // shared with the tests in other languages
	orders    = func() (all []string) {
		for number := range 20 {
			all = append(all, fmt.Sprintf("order-%d", number))
		}
		return all
	}()
)

// fresh is a broker without topics, groups and rules, and a service that is started by the function and stopped at the end.
func fresh(t *testing.T) (broker, func()) {
	b := broker{t}
	b.ask("POST", "/v1/reset", "{}", nil)
	client := connect(t)
	if _, err := kadm.NewClient(client).CreateTopics(t.Context(), 2, 1, nil, "orders", "payments"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.ask("DELETE", "/v1/faults", "", nil) }) // refused when a rule with must_hit hit nothing
	return b, func() {
		ctx, stop := context.WithCancel(context.Background())
		stopped := make(chan struct{})
		go func() { Serve(ctx, bootstrap); close(stopped) }()
		t.Cleanup(func() { stop(); <-stopped })
	}
}

func TestTheAnswerToACommitIsLost(t *testing.T) {
	b, start := fresh(t)
	rule, err := os.ReadFile(filepath.Join(rules, "lost-answer.json"))
	if err != nil {
		t.Fatal(err)
	}
	b.arm(string(rule))
	order(t)
	start()
	allPaidOnce(t, b)
}

func TestTheServicePausesForLongerThanItsSession(t *testing.T) {
	b, start := fresh(t)
	order(t)
	pause := b.arm(`{"match": {"api": "TxnOffsetCommit", "group": "payments"}, "action": {"type": "hold"}, "must_hit": true}`)
	start()
	until(t, func() bool { return b.hits(pause) == 1 })
	b.ask("POST", "/v1/clock/advance", `{"seconds": 50}`, nil) // the session is 45 s, the transaction may take 60 s
	if members := b.state().Groups["payments"].Members; len(members) > 0 {
		t.Fatalf("still in the group: %v", members)
	}
	b.ask("POST", "/v1/faults/"+pause+"/release", "{}", nil)
	allPaidOnce(t, b)
}

func order(t *testing.T) {
	client := connect(t)
	for _, each := range orders {
		client.Produce(t.Context(), &kgo.Record{Topic: "orders", Key: []byte(each), Value: []byte(each)}, nil)
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func allPaidOnce(t *testing.T, b broker) {
	client := connect(t, kgo.ConsumeTopics("payments"), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	var paid []string
	read := func(patience time.Duration) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		client.PollFetches(ctx).EachRecord(func(payment *kgo.Record) { paid = append(paid, string(payment.Value)) })
	}
	until(t, func() bool { read(50 * time.Millisecond); return len(paid) >= len(orders) && allEnded(b) })
	read(500 * time.Millisecond) // one too many
	var wanted []string
	for _, each := range orders {
		wanted = append(wanted, "paid "+each)
	}
	slices.Sort(wanted)
	slices.Sort(paid)
	if !slices.Equal(paid, wanted) {
		t.Fatalf("paid %v, not each order once", paid)
	}
}

func allEnded(b broker) bool {
	transactions := b.state().Transactions
	for _, each := range transactions {
		if !strings.HasPrefix(each.State, "Complete") {
			return false
		}
	}
	return len(transactions) > 0
}

func until(t *testing.T, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within a minute")
		}
	}
}

func connect(t *testing.T, options ...kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(bootstrap), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}
