package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const patience = 40 * time.Second

func franzClient(bootstrap string, options ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(options, kgo.SeedBrokers(bootstrap))...)
}

func franzCreate(ctx context.Context, client *kgo.Client, topic string) error {
	_, err := kadm.NewClient(client).CreateTopic(ctx, 1, 1, nil, topic)
	return err
}

// franzRead polls until count values came.
func franzRead(ctx context.Context, client *kgo.Client, count int) ([]string, error) {
	var values []string
	for len(values) < count {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return values, fmt.Errorf("after %v: %w", values, err)
		}
		fetches.EachRecord(func(record *kgo.Record) { values = append(values, string(record.Value)) })
	}
	return values, nil
}

func franzGroup(bootstrap, name string) (facts, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := franzClient(bootstrap, kgo.ConsumerGroup(name), kgo.ConsumeTopics(name), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if err := franzCreate(ctx, client, name); err != nil {
		return nil, err
	}
	same := true
	for round := range 3 { // three rounds on one fetch session
		var records []*kgo.Record
		for i := range 10 {
			records = append(records, &kgo.Record{Topic: name, Value: fmt.Appendf(nil, "%d", round*10+i)})
		}
		if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
			return nil, err
		}
		values, err := franzRead(ctx, client, 10)
		if err != nil {
			return nil, err
		}
		for i, value := range values {
			same = same && value == fmt.Sprint(round*10+i)
		}
	}
	if err := client.CommitUncommittedOffsets(ctx); err != nil {
		return nil, err
	}
	offsets, err := kadm.NewClient(client).FetchOffsets(ctx, name)
	if err != nil {
		return nil, err
	}
	offset, _ := offsets.Lookup(name, 0)
	return facts{"same": same, "committed": offset.At}, nil
}

func franzTransactions(bootstrap, name string) (facts, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := franzClient(bootstrap, kgo.TransactionalID(name))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if err := franzCreate(ctx, client, name); err != nil {
		return nil, err
	}
	admin := kadm.NewClient(client)
	var epochs []int16
	for i := range 5 {
		if err := client.BeginTransaction(); err != nil {
			return nil, err
		}
		if err := client.ProduceSync(ctx, &kgo.Record{Topic: name, Value: fmt.Appendf(nil, "%d", i)}).FirstErr(); err != nil {
			return nil, err
		}
		if err := client.EndTransaction(ctx, kgo.TransactionEndTry(i%2 == 0)); err != nil {
			return nil, err
		}
		described, err := admin.DescribeTransactions(ctx, name)
		if err != nil {
			return nil, err
		}
		epochs = append(epochs, described[name].ProducerEpoch)
	}
	reader, err := franzClient(bootstrap, kgo.ConsumeTopics(name), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	values, err := franzRead(ctx, reader, 3)
	return facts{"values": values, "bumps": epochs[4] - epochs[0]}, err
}
