package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// franzShare releases every record once, then accepts it.
func franzShare(bootstrap, name string) (facts, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := franzClient(bootstrap, kgo.ShareGroup(name), kgo.ConsumeTopics(name), kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if err := franzCreate(ctx, client, name); err != nil {
		return nil, err
	}
	if err := shareFromEarliest(ctx, client, name); err != nil {
		return nil, err
	}
	var records []*kgo.Record
	for i := range 20 {
		records = append(records, &kgo.Record{Topic: name, Value: fmt.Appendf(nil, "%d", i)})
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return nil, err
	}
	deliveries := map[string]int{}
	for total := 0; total < 40; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("after %v: %w", deliveries, err)
		}
		fetches.EachRecord(func(record *kgo.Record) {
			value := string(record.Value)
			deliveries[value]++
			total++
			if deliveries[value] == 1 {
				record.Ack(kgo.AckRelease)
			} else {
				record.Ack(kgo.AckAccept)
			}
		})
		if err := client.FlushAcks(ctx); err != nil {
			return nil, err
		}
	}
	twice := len(deliveries) == 20
	for _, times := range deliveries {
		twice = twice && times == 2
	}
	return facts{"twice": twice, "records": len(deliveries)}, nil
}

func shareFromEarliest(ctx context.Context, client *kgo.Client, group string) error {
	earliest := "earliest"
	config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	config.Name, config.Value = "share.auto.offset.reset", &earliest
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeGroupConfig, group
	resource.Configs = append(resource.Configs, config)
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	request.Resources = append(request.Resources, resource)
	answer, err := request.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	if code := answer.Resources[0].ErrorCode; code != 0 {
		return fmt.Errorf("share.auto.offset.reset: error %d", code)
	}
	return nil
}
