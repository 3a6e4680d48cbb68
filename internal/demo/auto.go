package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/backend"
	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/ralph-loop/ralph/internal/person"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/session"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// demoThreads are what the demo's agents are to reach: one does, one has too little money for it,
// and one comes to a question that its model would rather not decide.
func demoThreads() []ralph.NewThread {
	return []ralph.NewThread{
		{ID: "t-cnt1", Name: "Count the notes", Prompt: "`sh notes.sh count` says how many notes there are."},
		{ID: "t-doc1", Name: "Polish the README", Prompt: "Make the README as good as it can be.", Limits: ralph.ThreadLimits{Cost: 0.25}},
		{ID: "t-old1", Name: "Drop old notes", Prompt: "Drop the notes that are too old."},
	}
}

// RunAuto is Run with a thread that guidance directs, and three more whose next turns a scripted model on this
// machine advises.
func RunAuto(ctx context.Context, env workspace.Env, dir string, web bool) error {
	begin := time.Now()
	dir, err := makeDemo(ctx, env, dir, "demo_auto", 1)
	if err != nil {
		return err
	}
	if err := workspace.ExcludeRuntime(dir, Environ(env.Environ)); err != nil {
		return err
	}
	url, end, err := serveModel()
	if err != nil {
		return err
	}
	defer end()
	fmt.Fprintf(env.Stdout, "A small repository, and a scripted model that advises: %s\n\n", dir)
	inside := env
	inside.Dir, inside.Environ = dir, Environ(env.Environ)
	fmt.Fprintln(env.Stdout, "First `ralph auto go` with guidance: the model says what is wanted, and what is next.")
	guided := &session.Session{Env: inside, Mode: ralph.ModeAuto, Flags: map[string]string{"decision.base_url": url, "guidance.mode": "demo"}, Threads: guidedThread()}
	if err := guided.Run(ctx); err != nil {
		return kept(env, dir, err)
	}
	fmt.Fprintln(env.Stdout, "\nThen three threads at the same time.")
	x := &session.Session{Env: inside, Mode: ralph.ModeAuto, Flags: map[string]string{"decision.base_url": url}, Web: web, KeepWeb: true, Threads: demoThreads()}
	defer x.HoldWeb(ctx)
	ctx, answered := beside(ctx, inside)
	err = x.Run(ctx)
	said := answered()
	if end, ok := errors.AsType[exit.Error](err); err == nil || ok && end.Code == exit.Limit { // one of the threads stops by its budget
		err = said
	}
	if err != nil {
		x.KeepWeb = false
		x.CloseWeb()
		return kept(env, dir, err)
	}
	return autoEnd(context.WithoutCancel(ctx), inside, dir, time.Since(begin))
}

// kept tells where the repository of a demo is that came to no end.
func kept(env workspace.Env, dir string, err error) error {
	fmt.Fprintf(env.Stdout, "\nThe demo's repository is kept: %s\n", dir)
	return err
}

// guidedThread is what somebody asks for who says no goal.
func guidedThread() []ralph.NewThread {
	return []ralph.NewThread{{ID: "t-go01", Name: "go", Prompt: "go"}}
}

// beside is the person of the demo: as soon as a thread waits, they answer. The context that it
// returns ends when they could not; the function waits for their end.
func beside(ctx context.Context, env workspace.Env) (context.Context, func() error) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan error, 1)
	go func() {
		err := answerOnce(ctx, env)
		if err != nil {
			cancel(err)
		}
		done <- err
	}()
	return ctx, func() error {
		cancel(nil)
		return <-done
	}
}

func answerOnce(ctx context.Context, env workspace.Env) error {
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
		s, _, err := workspace.ReadState(env, false, false)
		if err != nil {
			continue // it is about to begin
		}
		for _, g := range s.Approvals {
			if t := s.Task(g.Task); t == nil || t.Run.Thread == nil {
				continue
			}
			fmt.Fprintf(env.Stdout, "YOU, in another terminal: ralph answer %s \"Keep them all: none has a date.\"\n", g.ID)
			return answer(context.WithoutCancel(ctx), env, g.ID, "Keep them all: none has a date.")
		}
	}
}

// answer is `ralph answer`, of the person who started the demo.
func answer(ctx context.Context, env workspace.Env, gate ralph.ApprovalID, words string) error {
	j, err := workspace.OpenJournal(env, false, true)
	if err != nil {
		return fmt.Errorf("answer in the demo: %w", err)
	}
	surface := backend.Surface{By: "cli", Cause: "ralph demo", Witness: func(context.Context) ralph.Witness { return person.Witness(env) }}
	_, err = action.Do(ctx, backend.New(env, env.Dir, j, surface), "answer", action.Input{ID: string(gate), Text: words})
	return errors.Join(err, j.Close())
}

// serveModel serves the scripted model on loopback, in the form of OpenAI's chat completions.
func serveModel() (url string, end func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("serve the demo's model: %w", err)
	}
	server := &http.Server{Handler: http.HandlerFunc(adviseDemo), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String() + "/v1", func() { _ = server.Close() }, nil
}

// adviseDemo is what the scripted model says of a turn: it would go on for ever, and is not sure
// where something is to be deleted.
func adviseDemo(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Messages []struct{ Content string }
	}
	_ = json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&ask)
	words := ""
	for _, m := range ask.Messages {
		words += m.Content
	}
	advice := map[string]any{"reason": "there is work left that the agent can do", "confidence": 0.9}
	switch next := "Go on with the next part, and run the check."; {
	case strings.Contains(words, "Say what they want"): // guidance
		advice["task"], advice["requirements"], advice["assumptions"] = "Write down how to work on the notes.", []string{"the README says how to add a note, and how to run the check"}, []string{"one note is one line"}
		advice["reason"] = "nobody who is new could say it"
	case strings.Contains(words, "Plan the work of a coding agent"):
		step := func(text, check string) map[string]any { return map[string]any{"text": text, "check": check} }
		advice["steps"], advice["reason"] = []any{step("Say how to add a note", "it is in the README"), step("Say how to run the check", "the check passes")}, "two steps do"
	case strings.Contains(words, "A coding agent works through a plan"):
		advice["action"], advice["directive"] = "continue", next
	default:
		advice["action"], advice["next_input"] = "continue", next
	}
	if strings.Contains(words, "I would delete all of them") {
		advice["reason"], advice["confidence"] = "deleting notes cannot be taken back, and nobody said which are old", 0.3
	}
	content, _ := json.Marshal(advice)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"id": "demo", "object": "chat.completion", "model": "scripted",
		"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": string(content)}}},
		"usage":   map[string]any{"prompt_tokens": 700, "completion_tokens": 60, "total_tokens": 760},
	})
}

// autoEnd tells what came of it and what to try next.
func autoEnd(ctx context.Context, env workspace.Env, dir string, d time.Duration) error {
	s, _, err := workspace.ReadState(env, false, true)
	if err != nil {
		return err
	}
	log, stderr, res, err := proc.NewRunner("").Output(ctx, proc.Command{Args: []string{"git", "log", "--format=  %h  %s"}, Dir: dir, Env: env.Environ})
	if err == nil && res.Code != 0 {
		err = errors.New(strings.TrimSpace(string(stderr)))
	}
	if err != nil {
		return fmt.Errorf("read the demo's commits: %w", err)
	}
	decisions, done := 0, 0
	for _, t := range s.Threads() {
		decisions += len(t.Run.Thread.Past)
		if t.Status == ralph.TaskDone {
			done++
		}
	}
	_, err = fmt.Fprintf(env.Stdout, `
Done in %s: what guidance found and %s reached, one stopped by its budget, %s, %s (made-up money).

Commits:
%s
Repository:
  %s

Try next:
  %[7]s -C %[6]s thread list
  %[7]s -C %[6]s thread show t-old1
  %[7]s -C %[6]s log    (what guidance said, and every decision)
  %[7]s -C %[6]s receipts    (each decision with what was known)
  %[7]s -C %[6]s replay      (every decision made again: the same, and no model is asked)

Then, in a repository of yours: ralph init, and ralph auto "make the tests pass"
`, ralph.Elapsed(d), text.Count(done, "goal"), text.Count(decisions, "decision"), ralph.Dollars(s.Session.Usage.Cost), log, dir, selfWords(env))
	return err
}
