// A kfake broker for the benchmarks: in memory, or with a data directory that is synced before each acknowledgement.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	port := flag.Int("port", 9092, "port on 127.0.0.1")
	dataDir := flag.String("data-dir", "", "keep data here; empty: in memory")
	syncWrites := flag.Bool("sync", false, "fsync before each acknowledgement")
	flag.Parse()
	options := []kfake.Opt{kfake.NumBrokers(1), kfake.Ports(*port), kfake.AllowAutoTopicCreation(), kfake.DefaultNumPartitions(1)}
	if *dataDir != "" {
		options = append(options, kfake.DataDir(*dataDir))
	}
	if *syncWrites {
		options = append(options, kfake.SyncWrites())
	}
	cluster, err := kfake.NewCluster(options...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	<-stop
	cluster.Close()
}
