// Scenarios of sarama and franz-go: `clients SCENARIO BOOTSTRAP NAME` prints one line of JSON facts.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

type facts map[string]any

func main() {
	scenarios := map[string]func(bootstrap, name string) (facts, error){
		"sarama-group":        saramaGroup,
		"sarama-transactions": saramaTransactions,
		"franz-group":         franzGroup,
		"franz-transactions":  franzTransactions,
		"franz-share":         franzShare,
	}
	found, err := scenarios[os.Args[1]](os.Args[2], os.Args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		panic(err)
	}
}
