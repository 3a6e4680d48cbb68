package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
)

// modelRule is what a scripted model says to requests that have some words: the first rule that
// fits answers.
type modelRule struct {
	Model  string          `json:"model"`  // that is asked, "" for any
	Words  []string        `json:"words"`  // all of them in the system prompt or the messages
	Text   string          `json:"text"`   // the answer in words
	Answer json.RawMessage `json:"answer"` // the answer as JSON
	Status int             `json:"status"` // an HTTP error instead
}

// cmdModel is `model <rules.json> <log>`: a model server whose address is in $MODEL from then on. It
// answers by the rules, and writes the model and the words of each request into the log.
func cmdModel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: model <rules.json> <log>")
	}
	var rules []modelRule
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &rules))
	path := ts.MkAbs(args[1])
	var mu sync.Mutex
	server := modeltest.Start(func(q modeltest.Request) modeltest.Reply {
		mu.Lock()
		defer mu.Unlock()
		words := q.System + q.Text
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, _ = f.WriteString(q.Model + "\t" + words + "\n")
			_ = f.Close()
		}
		for _, r := range rules {
			missing := slices.ContainsFunc(r.Words, func(w string) bool { return !strings.Contains(words, w) })
			if !missing && (r.Model == "" || r.Model == q.Model) {
				a := modeltest.Reply{Text: r.Text, Status: r.Status}
				if len(r.Answer) > 0 {
					a.Text = string(r.Answer)
				}
				return a
			}
		}
		return modeltest.Reply{Status: 500}
	})
	ts.Defer(server.Close)
	ts.Setenv("MODEL", server.URL)
}
