package main

import (
	"context"
	"fmt"

	"github.com/IBM/sarama"
)

func saramaConfig() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Idempotent = true
	config.Net.MaxOpenRequests = 1
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	return config
}

func saramaCreate(bootstrap, topic string) error {
	admin, err := sarama.NewClusterAdmin([]string{bootstrap}, saramaConfig())
	if err != nil {
		return err
	}
	defer admin.Close()
	return admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false)
}

// collector is a group member that stops after count values.
type collector struct {
	count  int
	values []string
	done   context.CancelFunc
}

func (*collector) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (*collector) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (c *collector) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		c.values = append(c.values, string(message.Value))
		session.MarkMessage(message, "")
		if len(c.values) == c.count {
			session.Commit()
			c.done()
			return nil
		}
	}
	return nil
}

func saramaRead(bootstrap, topic string, count int) ([]string, error) {
	group, err := sarama.NewConsumerGroup([]string{bootstrap}, topic, saramaConfig())
	if err != nil {
		return nil, err
	}
	defer group.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	member := &collector{count: count, done: cancel}
	for ctx.Err() == nil {
		if err := group.Consume(ctx, []string{topic}, member); err != nil && ctx.Err() == nil {
			return nil, err
		}
	}
	return member.values, nil
}

func saramaGroup(bootstrap, name string) (facts, error) {
	if err := saramaCreate(bootstrap, name); err != nil {
		return nil, err
	}
	producer, err := sarama.NewSyncProducer([]string{bootstrap}, saramaConfig())
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	for i := range 30 {
		if _, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: name, Value: sarama.StringEncoder(fmt.Sprint(i))}); err != nil {
			return nil, err
		}
	}
	values, err := saramaRead(bootstrap, name, 30)
	if err != nil {
		return nil, err
	}
	same := len(values) == 30
	for i, value := range values {
		same = same && value == fmt.Sprint(i)
	}
	admin, err := sarama.NewClusterAdmin([]string{bootstrap}, saramaConfig())
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	offsets, err := admin.ListConsumerGroupOffsets(name, map[string][]int32{name: {0}})
	if err != nil {
		return nil, err
	}
	return facts{"same": same, "committed": offsets.GetBlock(name, 0).Offset}, nil
}

func saramaTransactions(bootstrap, name string) (facts, error) {
	if err := saramaCreate(bootstrap, name); err != nil {
		return nil, err
	}
	config := saramaConfig()
	config.Producer.Transaction.ID = name
	producer, err := sarama.NewSyncProducer([]string{bootstrap}, config)
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	for i := range 5 {
		if err := producer.BeginTxn(); err != nil {
			return nil, err
		}
		if _, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: name, Value: sarama.StringEncoder(fmt.Sprint(i))}); err != nil {
			return nil, err
		}
		end := producer.CommitTxn
		if i%2 == 1 {
			end = producer.AbortTxn
		}
		if err := end(); err != nil {
			return nil, err
		}
	}
	values, err := saramaRead(bootstrap, name, 3)
	return facts{"values": values}, err
}
