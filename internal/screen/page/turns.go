package page

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// TurnRecord names the folder of a turn.
type TurnRecord struct {
	Name      string // as the folder is called
	Iteration int
	Try       int // from 1: a turn that was cut and is done again has a folder of its own
}

// TurnRows are the turns that the journal tells of, and those that only have a folder.
func TurnRows(told []TurnRow, records []TurnRecord, running string) []TurnRow {
	has := map[string]bool{}
	for _, x := range told {
		has[x.Record] = true
	}
	var out []TurnRow
	for _, x := range records {
		if !has[x.Name] && x.Name != running {
			out = append(out, TurnRow{Record: x.Name, Iteration: x.Iteration, Exit: "unknown"})
		}
	}
	out = append(out, told...)
	if running != "" {
		n, _, _ := strings.Cut(running, ".")
		iteration, _ := strconv.Atoi(n)
		out = append(out, TurnRow{Record: running, Iteration: iteration, Exit: "running"})
	}
	slices.Reverse(out)
	return out[:min(len(out), MaxTurns)]
}

// IsRecords reports whether an output is for programs: its last whole lines are JSON objects.
func IsRecords(text []byte) bool {
	n := 0
	for end := bytes.LastIndexByte(text, '\n'); end > 0 && n < recordLines; n++ {
		start := bytes.LastIndexByte(text[:end], '\n') + 1
		line := bytes.TrimSpace(text[start:end])
		if start == 0 && n > 0 && !bytes.HasPrefix(line, []byte("{")) {
			break // the rest of a line that is cut
		}
		if len(line) > 0 && (line[0] != '{' || !json.Valid(line)) {
			return false
		}
		end = start - 1
	}
	return n > 0
}

// recordLines are looked at to see whether an output is for programs.
const recordLines = 3
