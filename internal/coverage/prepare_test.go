package coverage_test

import (
	"testing"

	"github.com/ralph-loop/ralph/internal/coverage"
)

// C-061: ralph asks `go test` for a profile where that changes nothing else.
func TestPrepare(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"go test ./...":                             "go test -coverprofile=/s/cover.out ./...",
		"go test":                                   "go test -coverprofile=/s/cover.out",
		"  go   test -race ./... 2>&1":              "  go   test -coverprofile=/s/cover.out -race ./... 2>&1",
		"CGO_ENABLED=0 GOOS=linux go test ./...":    "CGO_ENABLED=0 GOOS=linux go test -coverprofile=/s/cover.out ./...",
		"go test -C sub ./...":                      "go test -C sub -coverprofile=/s/cover.out ./...",
		"go test -C=sub ./...":                      "go test -C=sub -coverprofile=/s/cover.out ./...",
		"go test -count=1 -cover -coverpkg=./... .": "go test -coverprofile=/s/cover.out -count=1 -cover -coverpkg=./... .",
		"go test $(go list ./... | grep -v gen)":    "go test -coverprofile=/s/cover.out $(go list ./... | grep -v gen)",
		"go test ./... -args -run x -c":             "go test -coverprofile=/s/cover.out ./... -args -run x -c",
		"go test ./... # all":                       "go test -coverprofile=/s/cover.out ./... # all",
		`"go" 'test' ./...`:                         `"go" 'test' -coverprofile=/s/cover.out ./...`,
	} {
		run, profile := coverage.Prepare(command, "/s")
		if run != want || profile != "/s/cover.out" {
			t.Errorf("%s\n got %s, %q\nwant %s", command, run, profile, want)
		}
	}
	for _, command := range []string{
		"", "go", "go build ./...", "go vet ./...", "make test", "npm test", "gotestsum", "./go test", "go tool test",
		"go test ./... && go vet ./...", "go test ./...; true", "go test ./... | tee log", "go test ./... &", "! go test ./...",
		"(go test ./...)", "if true; then go test ./...; fi", "sh -c 'go test ./...'", "env X=1 go test ./...", "time -p go test", "cd x && go test",
		"go test -coverprofile=c.out ./...", "go test --coverprofile c.out ./...", "go test -test.coverprofile=c.out ./...", "GOFLAGS=-coverprofile=x go test ./...",
		"go test -c ./x", "go test -exec qemu ./...", "go test -fuzz=. ./x", "go test -run '^$' -bench . ./...", "go test -run X ./...",
		"go test '-run=X' ./...", `go test -r\un=X ./...`, "go test -skip X ./...", "go test -list .", "go test -n ./...", "go test -o x ./x", "go help test",
		"go test $FLAGS ./...", `go test "$FLAGS" ./...`, "go test ${X} .", "go test `echo -c`x ./...", "go test -C", "go test ./... -C sub",
		"go test 'unclosed", "$GO test ./...", "go $(echo test) ./...",
	} {
		if run, profile := coverage.Prepare(command, "/s"); run != command || profile != "" {
			t.Errorf("%s became %s, %q", command, run, profile)
		}
	}
	if run, _ := coverage.Prepare("go test .", "/tmp/a b'c"); run != `go test -coverprofile="/tmp/a b'c/cover.out" .` {
		t.Errorf("a folder with blanks: %s", run)
	}
}

// A toolchain that cannot measure must not make tests red.
func TestSpoiled(t *testing.T) {
	t.Parallel()
	if !coverage.Spoiled("ok  \tx/a\t0.1s\ngo: no such tool \"covdata\"\n") || coverage.Spoiled("--- FAIL: TestCovdata (0.00s)\n") {
		t.Error("the output is misread")
	}
}
