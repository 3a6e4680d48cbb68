package session

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Set gives a setting a value from the command line.
func (x *Session) Set(key, value string) {
	if x.Flags == nil {
		x.Flags = map[string]string{}
	}
	x.Flags[key] = value
}

// Simple has the session work with less around it: one agent at a time, in the checkout, and nothing
// is sent to outside services. Approvals, the never list and checks are as ever.
func (x *Session) Simple() {
	x.Set("parallel", "1")
	x.Set("isolation", "none")
	for _, key := range []string{"sync.github.enabled", "sync.jira.enabled", "sync.ado.enabled"} {
		x.Set(key, "false")
	}
	x.Set("land.how", "commit")
	x.Set("inbox.sources", "[]")
}

// askToResume settles whether an interrupted session goes on: agent mode resumes by
// itself, the others ask where there is somebody to ask.
func (x *Session) askToResume() error {
	if x.Resume && x.Fresh {
		return &ralph.Refusal{Why: "--resume and --fresh exclude each other", Kind: ralph.ErrUsage}
	}
	if x.Fresh {
		return nil
	}
	s, j, err := workspace.ReadState(x.Env, false, false)
	if err != nil || j.Holder() != nil { // an engine that is there is the lock's matter
		return err
	}
	file, err := readAgentSession(x.Root)
	if err != nil {
		return err
	}
	can := x.resumes(s, file != nil)
	switch {
	case x.Resume && !can:
		return &ralph.Refusal{Why: "there is no interrupted session to resume", Hint: "start without --resume", Kind: ralph.ErrUsage}
	case !can || x.Resume || x.Mode == "agent" || x.Mode == ralph.ModeAuto || !x.Env.Terminal:
		return nil
	}
	x.Fresh = !yes(x.Env.Stdout, x.Env.Stdin, fmt.Sprintf(
		"Session %s of %s was interrupted: %s done, %s spent.\nResume interrupted session? [Y/n] ",
		s.Session.ID, s.Session.StartedAt.Local().Format("2006-01-02 15:04"), text.Count(s.Session.Count.TasksDone, "task"), s.Session.Usage.Dollars()))
	return nil
}

// yes asks a question. An empty line is yes, and so is an input that has ended: nobody
// is there.
func yes(w io.Writer, r io.Reader, question string) bool {
	_, _ = io.WriteString(w, question)
	line, _ := bufio.NewReader(r).ReadString('\n')
	word := strings.ToLower(strings.TrimSpace(line))
	return word == "" || word == "y" || word == "yes"
}
