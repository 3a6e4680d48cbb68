package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdWebhook is `webhook <file>`: a server whose address is in $WEBHOOK from then on. What it
// gets becomes a line of the file; while there is a <file>.down it answers 503 and a line of that.
func cmdWebhook(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: webhook <file>")
	}
	path := ts.MkAbs(args[0])
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		name, flags := path, os.O_APPEND|os.O_CREATE|os.O_WRONLY
		if _, down := os.Stat(path + ".down"); down == nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			name = path + ".down"
		}
		f, opened := os.OpenFile(name, flags, 0o600)
		if err != nil || opened != nil {
			return
		}
		defer f.Close()
		_, _ = f.Write(append(body, '\n'))
	}))
	ts.Defer(server.Close)
	ts.Setenv("WEBHOOK", server.URL+"/s3cret")
}
