// go-mysql: decodes all rows of a binlog file with its BinlogParser, in its default settings: checksums are not verified, JSON
// becomes text, times and decimals are strings.
package main

import (
	"encoding/json"
	"log"
	"os"
	"time"

	"github.com/go-mysql-org/go-mysql/replication"
)

// rowImages returns the number of row images of an event: an update has two.
func rowImages(event replication.Event) int {
	switch event := event.(type) {
	case *replication.RowsEvent:
		return len(event.Rows)
	case *replication.TransactionPayloadEvent:
		rows := 0
		for _, inner := range event.Events {
			rows += rowImages(inner.Event)
		}
		return rows
	}
	return 0
}

func main() {
	rows := 0
	start := time.Now()
	parser := replication.NewBinlogParser()
	err := parser.ParseFile(os.Args[1], 0, func(event *replication.BinlogEvent) error {
		rows += rowImages(event.Event)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	seconds := time.Since(start).Seconds()
	json.NewEncoder(os.Stdout).Encode(map[string]any{"rows": rows, "seconds": seconds})
}
