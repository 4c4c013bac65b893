// A server in Go, as far as it reads arguments: encoding/json fills a struct. A line of stdin is the JSON of one call's arguments;
// the line of stdout is what was read, without what is not there, or null where the server would refuse the call.
package main

import (
	"bufio"
	"encoding/json"
	"os"
)

type order struct {
	Price *float64 `json:"price,omitempty"`
}

type arguments struct {
	Amount  *float64            `json:"amount,omitempty"`
	Limit   *int64              `json:"limit,omitempty"`
	Force   *bool               `json:"force,omitempty"`
	To      *string             `json:"to,omitempty"`
	Ids     *[]string           `json:"ids,omitempty"`
	Order   *order              `json:"order,omitempty"`
	Tags    *map[string]float64 `json:"tags,omitempty"`
	MaxSize *float64            `json:"max_size,omitempty"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for lines.Scan() {
		var read arguments
		text := []byte("null")
		if json.Unmarshal(lines.Bytes(), &read) == nil {
			if written, err := json.Marshal(read); err == nil {
				text = written
			}
		}
		out.Write(append(text, '\n'))
	}
}
