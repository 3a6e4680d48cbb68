package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/agent/wire"

	acp "github.com/coder/acp-go-sdk"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// ask is what session/request_permission says.
type ask struct {
	Call    update `json:"toolCall"`
	Options []struct {
		ID   string `json:"optionId"`
		Kind string `json:"kind"`
	} `json:"options"`
}

// handle answers what the agent asks. ralph has offered no files and no terminals, so
// all but permissions is refused; opencode writes a file itself all the same.
func (a *turn) handle(ctx context.Context, method string, params json.RawMessage) (any, *acp.RequestError) {
	if method != acp.ClientMethodSessionRequestPermission {
		return nil, acp.NewMethodNotFound(method)
	}
	var ask ask
	tolerant(params, &ask)
	a.mu.Lock()
	if a.asks.Err() != nil { // nobody waits for handlers any more
		a.mu.Unlock()
		return outcome(""), nil
	}
	a.handlers.Add(1)
	a.mu.Unlock()
	defer a.handlers.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.asks, cancel)()
	a.t.Mu.Lock()
	q := a.log.request(ask.Call)
	a.t.Mu.Unlock()
	if q.Op == ralph.OpTool && strings.HasPrefix(q.Tool, wire.OwnTools) && len(a.t.In.MCP) > 0 {
		// It talks to this very turn. So Claude's adapter calls it; others do not ask.
		return outcome(a.answered(ctx, ask, q, ralph.Reply{Allow: true}, nil)), nil
	}
	r, err := a.asking.Answer(ctx, q)
	return outcome(a.answered(ctx, ask, q, r, err)), nil
}

// answered notes the answer and returns the option that says it, "" for cancelled.
func (a *turn) answered(ctx context.Context, ask ask, q ralph.Request, r ralph.Reply, err error) string {
	a.t.Mu.Lock()
	defer a.t.Mu.Unlock()
	a.t.Emit(ralph.StreamEvent{Kind: ralph.StreamResolved, Thread: a.log.session, Request: ralph.Request{ID: q.ID}})
	switch {
	case ctx.Err() != nil || errors.Is(err, context.Canceled):
		return ""
	case err != nil:
		a.mu.Lock()
		a.askErr = err
		a.mu.Unlock()
		go a.halt(err)
		return ""
	case r.Stop:
		a.log.stopped = true
		go a.cancel(a.log.session) // most agents go on after an answer of "cancelled"
		return ""
	case r.Allow:
		return ask.option("allow_once", "allow_always")
	}
	a.log.refused[q.ID] = true
	if a.asking.Ask == nil && len(a.log.denied) < wire.MaxDenied {
		a.log.denied = append(a.log.denied, q.Text)
	}
	return ask.option("reject_once", "reject_always")
}

// option is the id of the first kind that is offered: ids are each agent's own, kinds
// are the protocol's. "For always" is taken where nothing less can be said.
func (k ask) option(kinds ...string) string {
	for _, kind := range kinds {
		for _, o := range k.Options {
			if o.Kind == kind {
				return o.ID
			}
		}
	}
	return ""
}

func outcome(option string) object {
	if option == "" {
		return object{"outcome": object{"outcome": "cancelled"}}
	}
	return object{"outcome": object{"outcome": "selected", "optionId": option}}
}

// asked tells that a request came. It may be the first that is heard of the call.
func (l *log) asked(params []byte) {
	var ask ask
	tolerant(params, &ask)
	l.close()
	if c := l.merge(ask.Call); c != nil && !c.begun {
		l.tell(c)
	}
	l.t.Emit(ralph.StreamEvent{Kind: ralph.StreamApproval, Thread: l.session, Request: l.request(ask.Call)})
}

// request is what the agent wants to do, from the request and what was heard of the
// call before. Command is set only where the agent says what it would run: a title is
// for people, and may be short of the truth.
func (l *log) request(u update) ralph.Request {
	q := ralph.Request{ID: u.Call, Kind: ralph.RequestApproval, Op: ralph.OpTool, Tool: u.Op, Text: wire.StartLine(u.Title, wire.MaxSaidTool)}
	item := ralph.Item{}
	if c := l.calls[u.Call]; c != nil {
		item = c.item
	}
	if item.Type != "" {
		q.Tool = item.Type
	}
	if u.Op == "" {
		u.Op = map[ralph.ItemKind]string{ralph.ItemCommand: "execute", ralph.ItemEdit: "edit"}[item.Kind]
	}
	switch u.Op {
	case "execute":
		q.Op = ralph.OpCommand
		q.Command, q.Dir = commandOf(u.Input), dirOf(u.Input)
		if q.Command != "" {
			q.Text = wire.StartLine(q.Command, wire.MaxSaidTool)
		}
	case "edit", "delete":
		q.Op = ralph.OpEdit
	case "move":
		if len(pathsOf(u)) > 1 { // else it does not say where to
			q.Op = ralph.OpEdit
		}
	case "read", "search":
		q.Op = ralph.OpRead
	}
	if q.Op == ralph.OpEdit || q.Op == ralph.OpRead {
		q.Paths = pathsOf(u)
		for _, p := range item.Files {
			if !slices.Contains(q.Paths, p) {
				q.Paths = append(q.Paths, p)
			}
		}
		if len(q.Paths) > 0 {
			q.Text = strings.TrimSpace(q.Tool + " " + wire.StartLine(strings.Join(q.Paths, ", "), wire.MaxSaidTool))
		}
	}
	if q.Command != "" && members(u.Input) == 1 {
		return q // the command is all there is to see
	}
	if len(u.Input) > 2 {
		q.Detail = wire.Compact(u.Input, wire.MaxDetail)
	} else if len(u.Content) > 2 {
		q.Detail = wire.Compact(u.Content, wire.MaxDetail)
	}
	return q
}

func members(object []byte) (n int) {
	wire.EachMember(object, func(_, _ []byte) { n++ })
	return n
}

// commandOf is the shell text that a call would run, as its input says.
func commandOf(input []byte) string {
	command := ""
	wire.EachMember(input, func(key, value []byte) {
		if string(key) != "command" {
			return
		}
		if command = wire.Text(value); command != "" {
			return
		}
		var words []string
		wire.EachElement(value, func(word []byte) { words = append(words, wire.Text(word)) })
		if len(words) == 3 && wire.IsShell(words[0]) && (words[1] == "-c" || words[1] == "-lc") {
			command = words[2]
			return
		}
		for i, w := range words {
			words[i] = quoteWord(w)
		}
		command = strings.Join(words, " ")
	})
	return command
}

// plainWord is a word that a shell takes as it is.
var plainWord = lazyregexp.New(`^[A-Za-z0-9_@%+,./:-][A-Za-z0-9_@%+=,./:-]*$`)

// quoteWord writes one argument so that a shell would pass on just that.
func quoteWord(w string) string {
	if plainWord.MatchString(w) {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

func dirOf(input []byte) string {
	dir := ""
	wire.EachMember(input, func(key, value []byte) {
		if k := string(key); k == "cwd" || k == "workdir" {
			dir = wire.Text(value)
		}
	})
	return dir
}

// pathsOf are the files that a call is about, from wherever its agent says it.
func pathsOf(u update) []string {
	var paths []string
	add := func(p string) {
		if p != "" && !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	wire.EachElement(u.Content, func(block []byte) {
		wire.EachMember(block, func(key, value []byte) {
			if string(key) == "path" {
				add(wire.Text(value))
			}
		})
	})
	for _, p := range u.Locations {
		add(p.Path)
	}
	wire.EachMember(u.Input, func(key, value []byte) {
		switch string(key) {
		case "file_path", "filePath", "filepath", "fileName", "notebook_path", "path":
			add(wire.Text(value))
		}
	})
	return paths
}

// outputOf is what a call gave back.
func outputOf(u update) string {
	var out []string
	if len(u.Content) > 0 && bytes.HasPrefix(bytes.TrimSpace(u.Content), []byte("[")) {
		wire.EachElement(u.Content, func(block []byte) {
			var b struct {
				Type    string `json:"type"`
				Content struct {
					Text string `json:"text"`
				} `json:"content"`
			}
			tolerant(block, &b)
			if b.Type == "content" && b.Content.Text != "" {
				out = append(out, b.Content.Text)
			}
		})
	}
	if len(out) == 0 && u.Status != "" {
		if s := wire.Text(bytes.TrimSpace(u.Output)); s != "" {
			return s
		}
	}
	return strings.Join(out, "\n")
}
