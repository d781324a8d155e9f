// Package payments takes orders and writes payments: each order is paid once, whatever fails meanwhile.
//
// An order's payment and the offset behind the order are one transaction. Where that fails for good (fenced, thrown out of the
// group) the service begins again as a new instance, which aborts what is open, where the last committed transaction ended.
package payments

import (
	"context"
	"log"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Serve pays until ctx ends.
func Serve(ctx context.Context, bootstrap string) {
	for ctx.Err() == nil {
		if err := serveOnce(ctx, bootstrap); err != nil && ctx.Err() == nil {
			log.Printf("a new instance goes on: %v", err)
		}
	}
}

func serveOnce(ctx context.Context, bootstrap string) error {
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(bootstrap),
		kgo.TransactionalID("payments"),
		kgo.TransactionTimeout(time.Minute),
		kgo.ConsumerGroup("payments"),
		kgo.ConsumeTopics("orders"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }),
	)
	if err != nil {
		return err
	}
	defer session.Close()
	for ctx.Err() == nil {
		if err := pay(ctx, session); err != nil {
			return err
		}
	}
	return nil
}

// pay ends one transaction. Where others have joined the group meanwhile it is aborted, and its orders come again.
func pay(ctx context.Context, session *kgo.GroupTransactSession) error {
	orders := session.PollRecords(ctx, 5)
	if err := orders.Err0(); err != nil || orders.Empty() {
		return err
	}
	if err := session.Begin(); err != nil {
		return err
	}
	sent := kgo.AbortingFirstErrPromise(session.Client())
	orders.EachRecord(func(order *kgo.Record) {
		payment := kgo.KeySliceRecord(order.Key, append([]byte("paid "), order.Value...))
		payment.Topic = "payments"
		session.Produce(ctx, payment, sent.Promise())
	})
	_, err := session.End(ctx, sent.Err() == nil)
	return err
}
