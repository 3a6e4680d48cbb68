package claudehook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/workspace"
)

const (
	// maxHookBlocks is how often a session is kept from ending over one task. claude
	// itself gives up after eight in a row, with an empty answer.
	maxHookBlocks = 3
	notes         = "ralph/.state/hooks"
)

// Stop answers a Stop hook, when it is of the session it is for. Whatever goes wrong
// is a word on stderr and no answer: with exit code 2 claude would take it for a block,
// and a broken journal would keep a person in a session without end.
func Stop(env workspace.Env, f *Flags) error {
	out, err := judgeStop(env, f)
	if err == nil && out != nil {
		err = json.NewEncoder(env.Stdout).Encode(out)
	}
	if err != nil {
		fmt.Fprintln(env.Stderr, "ralph hook:", err)
	}
	return nil
}

func judgeStop(env workspace.Env, f *Flags) (any, error) {
	in, err := readHook(env, "Stop")
	switch {
	case inTurn(env):
		return nil, errors.New("this session is a turn of ralph, which sees to it itself")
	case err != nil:
		return nil, err
	case !SessionID().MatchString(in.Session):
		return nil, fmt.Errorf("%q is no id of a session", in.Session)
	case f.Any:
	case !SessionID().MatchString(f.Session):
		return nil, errors.New("bound to no session: see `ralph hook --help`")
	case in.Session != f.Session:
		return nil, fmt.Errorf("this is session %q, the hook is for %s", in.Session, f.Session)
	}
	return hookStop(env, in)
}

// hookStop is the feedback loop for a session of a person's own: a stop is
// blocked, and the next instruction given, while a task is ready.
func hookStop(env workspace.Env, in Input) (any, error) {
	s, _, err := workspace.ReadState(env, false, true)
	if err != nil {
		return nil, err
	}
	if s.Session.Live() {
		return nil, errors.New("ralph itself is at work here")
	}
	c, err := workspace.ScheduleConfig(env, s)
	if err != nil {
		return nil, err
	}
	ready := policy.Ready(s, c)
	if len(ready) == 0 {
		return nil, nil
	}
	next := ready[0]
	n, err := countBlock(env, in.Session, next.ID)
	if err != nil {
		return nil, err
	}
	if n > maxHookBlocks {
		return nil, fmt.Errorf("%s was asked for %d times: the session may end", next.ID, maxHookBlocks)
	}
	return map[string]string{"decision": "block", "reason": nextWords(next, len(ready))}, nil
}

func nextWords(t *ralph.Task, ready int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The plan has work left (%d ready). Next: %s, %s.", ready, t.ID, t.Name)
	if t.Notes != "" {
		b.WriteString("\n" + t.Notes)
	}
	if t.Accept != "" {
		b.WriteString("\nIt is done when: " + t.Accept)
	}
	fmt.Fprintf(&b, "\nDo it, see the checks pass, then run `ralph task done %s`; if it cannot be done, run `ralph task skip %s`.", t.ID, t.ID)
	return b.String()
}

// countBlock counts how often a session was kept at the same task. The count is no
// part of the journal: it is about a session that ralph does not run.
func countBlock(env workspace.Env, session string, task ralph.TaskID) (int, error) {
	root, err := workspace.FindRoot(env)
	if err != nil {
		return 0, err
	}
	if err := workspace.ExcludeRuntime(root, env.Environ); err != nil {
		return 0, err
	}
	file := filepath.Join(root, notes, session+".json")
	var last struct {
		Task ralph.TaskID `json:"task"`
		N    int          `json:"n"`
	}
	b, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("read how often the session was asked: %w", err)
	}
	if err == nil && json.Unmarshal(b, &last) != nil || last.Task != task {
		last.Task, last.N = task, 0
	}
	last.N++
	if b, err = json.Marshal(last); err != nil {
		return 0, err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return 0, fmt.Errorf("keep how often the session was asked: %w", err)
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		return 0, fmt.Errorf("keep how often the session was asked: %w", err)
	}
	return last.N, nil
}
