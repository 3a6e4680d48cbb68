package main

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
	"github.com/rogpeppe/go-internal/testscript"
)

// cmdAnswering is `answering <file>`: a model server whose address is in $MODEL from then on. It answers
// what the file holds when it is asked, or is overloaded while there is none, and writes each
// question to <file>.asked.
func cmdAnswering(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: answering <file>")
	}
	path := ts.MkAbs(args[0])
	server := modeltest.Start(func(q modeltest.Request) modeltest.Reply {
		f, err := os.OpenFile(path+".asked", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return modeltest.Reply{Status: 500}
		}
		defer f.Close()
		line, _ := json.Marshal(q.Prompt)
		_, _ = f.Write(append(line, '\n'))
		words, err := os.ReadFile(path)
		if err != nil {
			return modeltest.Reply{Status: 400}
		}
		return modeltest.Reply{Text: strings.TrimSpace(string(words)), Tokens: 2000, Output: 100}
	})
	ts.Defer(server.Close)
	ts.Setenv("MODEL", server.URL)
}
