//go:build corpus

package corpus

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// edit is one change of a file.
type edit struct {
	Path string
	Text string // the whole file; with At or End: what is added
	At   string // Text comes before the first line that begins so
	End  bool   // Text comes at the end
	Mode os.FileMode
}

// chore is one task as the agent does it: first a test that is red, and after it was told
// so by the output of the check, what makes it green.
type chore struct {
	Red, Green []edit
	Told       string   // regular expression that the prompt of the second turn must hold
	Run        []string // shell commands of the second turn, after its edits: work in submodules
}

// orders are what the agent of one repository does, by the name of the task.
type orders map[string]chore

// agentMain is one turn: the prompt comes on standard input, the answer goes to standard output.
func agentMain(file string) int {
	if err := agentTurn(file); err != nil {
		fmt.Fprintln(os.Stderr, "the scripted agent:", err)
		return 1
	}
	return 0
}

func agentTurn(file string) error {
	prompt, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var all orders
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	switch stage := os.Getenv("RALPH_STAGE"); stage {
	case "plan":
		fmt.Printf("```json\n{\"tasks\": [{\"name\": %q}]}\n```\n", inPlace)
		return nil
	case "verify":
		fmt.Print("```json\n{\"verdicts\": [], \"tasks\": [], \"issues\": []}\n```\n")
		return nil
	case "resolve":
		err = bothSides()
	case "build":
		err = work(all, os.Getenv("RALPH_TASK_NAME"), os.Getenv("RALPH_ITERATION"), prompt)
	default:
		err = fmt.Errorf("no work in stage %q", stage)
	}
	if err == nil {
		fmt.Println("<ralph>COMPLETE</ralph>")
	}
	return err
}

func work(all orders, name, turn string, prompt []byte) error {
	c, ok := all[name]
	if !ok {
		return fmt.Errorf("no task %q", name)
	}
	edits, run := c.Red, []string(nil)
	if turn != "1" {
		if !regexp.MustCompile(c.Told).Match(prompt) {
			return fmt.Errorf("%s\nthe prompt of turn %s, above, does not say %s", prompt, turn, c.Told)
		}
		edits, run = c.Green, c.Run
	}
	for _, e := range edits {
		if err := e.do(); err != nil {
			return err
		}
	}
	for _, line := range run {
		out, err := exec.Command("sh", "-ec", line).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", line, err, out)
		}
		fmt.Fprintf(os.Stderr, "%s", out) // as agents show what their commands say
	}
	return nil
}

func (e edit) do() error {
	if e.At == "" && !e.End {
		mode := e.Mode
		if mode == 0 {
			mode = 0o644
		}
		return errors.Join(os.MkdirAll(filepath.Dir(e.Path), 0o755), os.WriteFile(e.Path, []byte(e.Text), mode))
	}
	old, err := os.ReadFile(e.Path)
	if err != nil || bytes.Contains(old, []byte(e.Text)) {
		return err
	}
	at := len(old)
	if !e.End {
		if at = bytes.Index(old, []byte("\n"+e.At)) + 1; at == 0 {
			return fmt.Errorf("%s has no line %q", e.Path, e.At)
		}
	}
	return os.WriteFile(e.Path, []byte(string(old[:at])+e.Text+string(old[at:])), 0o644)
}

// bothSides resolves conflicts as one does where both have added lines: both stay.
func bothSides() error {
	out, err := exec.Command("git", "diff", "--name-only", "-z", "--diff-filter=U").Output()
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if name == "" {
			continue // none is left
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var kept strings.Builder
		base := false
		for line := range strings.Lines(string(text)) {
			switch {
			case strings.HasPrefix(line, "<<<<<<<"), strings.HasPrefix(line, ">>>>>>>"):
			case strings.HasPrefix(line, "|||||||"):
				base = true
			case strings.HasPrefix(line, "======="):
				base = false
			case !base:
				kept.WriteString(line)
			}
		}
		if err := os.WriteFile(name, []byte(kept.String()), 0o644); err != nil {
			return err
		}
		if err := exec.Command("git", "add", "--", name).Run(); err != nil {
			return fmt.Errorf("git add %s: %w", name, err)
		}
	}
	return nil
}
