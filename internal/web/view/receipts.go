package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report/receipts"
	"github.com/ralph-loop/ralph/internal/screen/history"
)

// What the pages of decisions show.
type (
	ReceiptsModel = history.Receipts
	ReceiptModel  = history.Receipt
	ReplayModel   = history.Replay
	Replayed      = history.Replayed
	Proved        = history.Proved
)

// carried says whether a decision was carried out: a status, for its badge.
func carried(x *receipts.Receipt) string {
	return x.Execution
}

// carriedWords is the same in words.
func carriedWords(x *receipts.Receipt) string {
	switch carried(x) {
	case "interrupted":
		return "cut: the engine died"
	case "active":
		return "under way"
	}
	return x.Execution
}

// stopped is the stop condition that a decision hit, "" for none.
func stopped(x *receipts.Receipt) string {
	if x.Stop == nil {
		return ""
	}
	return strings.TrimSuffix(*x.Stop+": "+x.Why, ": ")
}

// confidence says how sure a decision was: rules always are.
func confidence(c float64) string {
	if c == 1 {
		return "certain: a rule decided"
	}
	return fmt.Sprintf("confidence %.2f", c)
}

// dayOf is the day of a receipt, where it is another than that of the row before.
func dayOf(rows []receipts.Receipt, i int) string {
	day := rows[i].At.Local().Format("2006-01-02")
	if i > 0 && rows[i-1].At.Local().Format("2006-01-02") == day {
		return ""
	}
	return day
}

func receiptPath(seq int64) string { return fmt.Sprintf("/receipt/%d", seq) }

// ofTask is the list of one task's receipts.
func ofTask(id ralph.TaskID) string { return "/receipts?task=" + url.QueryEscape(string(id)) }

// named splits `name: words`.
func named(line string) (name, words string) {
	name, words, _ = strings.Cut(line, ":")
	return name, strings.TrimSpace(words)
}

// maxConfig bounds the recorded settings on a page, in bytes.
const maxConfig = 64 << 10

// prettyJSON lays a JSON text out for people.
func prettyJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	if b.Len() > maxConfig {
		return string(bytes.ToValidUTF8(b.Bytes()[:maxConfig], nil)) + "\n… the rest is in `ralph receipts <number> --json`"
	}
	return b.String()
}

// maxDiffer are shown of what is decided otherwise now.
const maxDiffer = 200

// replayPath is the address of a replay.
func replayPath(session string, current bool) string {
	p := "/replay"
	if session != "" {
		p += "/" + url.PathEscape(session)
	}
	if current {
		p += "?settings=now"
	}
	return p
}

// behind says how many facts came after what was read.
func behind(now, read int64) string {
	if now <= read {
		return ""
	}
	if now-read == 1 {
		return "1 fact has come since"
	}
	return fmt.Sprintf("%s facts have come since", thousands(now-read))
}

func usageWords(u ralph.Usage) string {
	if u == (ralph.Usage{}) {
		return ""
	}
	return fmt.Sprintf("%s in, %s out, %s from the cache, %s", thousands(u.Input), thousands(u.Output), thousands(u.CacheRead), dollars(u.Cost))
}

func sessionsWord(n int) string {
	if n == 1 {
		return "1 session"
	}
	return fmt.Sprintf("%d sessions", n)
}
