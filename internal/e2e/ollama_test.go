//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"
)

// ollama is a real Ollama on loopback with a home of its own, and models that say noise (tinyModel).
type ollama struct {
	t   *testing.T
	url string
}

// The templates of the models: what names .Tools can call tools, as far as Ollama knows.
const (
	withTools    = "{{ if .Tools }}tools: {{ .Tools }}\n{{ end }}{{ range .Messages }}{{ .Role }}: {{ .Content }}\n{{ end }}assistant:"
	withoutTools = "{{ range .Messages }}{{ .Role }}: {{ .Content }}\n{{ end }}assistant:"
)

// startOllama starts a server that ends with the test, with all that it has started.
func startOllama(t *testing.T) *ollama {
	t.Helper()
	binary := os.Getenv("RALPH_E2E_OLLAMA")
	if binary == "" {
		t.Skip("needs an Ollama: `make e2e-ollama` builds it once, which takes ten minutes and a C++ compiler")
	}
	home := t.TempDir()
	cmd := exec.Command(binary, "serve")
	cmd.Dir, cmd.WaitDelay = home, 10*time.Second
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "OLLAMA_MODELS=" + home + "/models", "OLLAMA_HOST=127.0.0.1:0", "OLLAMA_NO_CLOUD=1", "OLLAMA_NUM_PARALLEL=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its models run in processes of their own
	heard := &listener{address: make(chan string, 1)}
	reader, writer := io.Pipe()
	cmd.Stdout, cmd.Stderr = writer, writer
	go heard.listen(reader)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		_ = writer.Close()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		select {
		case <-ended:
		case <-time.After(time.Minute):
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if t.Failed() {
			t.Logf("ollama said:\n%s", heard.String())
		}
	})
	select {
	case address := <-heard.address:
		return &ollama{t: t, url: "http://" + address}
	case err := <-ended:
		ended <- err
		t.Fatalf("ollama ended: %v\n%s", err, heard.String())
	case <-time.After(2 * time.Minute):
		t.Fatalf("ollama does not listen\n%s", heard.String())
	}
	return nil
}

// listener reads what a server says, and at which address it listens.
type listener struct {
	address chan string
	mu      sync.Mutex
	said    bytes.Buffer
}

func (l *listener) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said.String()
}

func (l *listener) listen(r io.Reader) {
	at := regexp.MustCompile(`Listening on (127\.0\.0\.1:\d+)`)
	found := false
	for lines := bufio.NewReader(r); ; {
		line, err := lines.ReadString('\n')
		l.mu.Lock()
		l.said.WriteString(line)
		l.mu.Unlock()
		if m := at.FindStringSubmatch(line); m != nil && !found {
			l.address <- m[1]
			found = true
		}
		if err != nil {
			return
		}
	}
}

// post sends a body and wants to hear that it went well.
func (o *ollama) post(path string, body []byte) {
	o.t.Helper()
	res, err := http.Post(o.url+path, "application/json", bytes.NewReader(body))
	if err != nil {
		o.t.Fatal(err)
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode >= 300 {
		o.t.Fatalf("POST %s: %d %s (%v)", path, res.StatusCode, text, err)
	}
}

// create makes a model of random weights by a name.
func (o *ollama) create(name, template string) {
	o.t.Helper()
	weights := tinyModel(1)
	sum := fmt.Sprintf("sha256:%x", sha256.Sum256(weights))
	o.post("/api/blobs/"+sum, weights)
	body, err := json.Marshal(map[string]any{"model": name, "files": map[string]string{"tiny.gguf": sum}, "template": template, "parameters": map[string]any{"seed": 7}, "stream": false})
	if err != nil {
		o.t.Fatal(err)
	}
	o.post("/api/create", body)
}
