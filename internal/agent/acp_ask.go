package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// acpAsk is what session/request_permission says.
type acpAsk struct {
	Call    acpUpdate `json:"toolCall"`
	Options []struct {
		ID   string `json:"optionId"`
		Kind string `json:"kind"`
	} `json:"options"`
}

// handle answers what the agent asks. ralph has offered no files and no terminals, so
// all but permissions is refused; opencode writes a file itself all the same.
func (a *acpTurn) handle(ctx context.Context, method string, params json.RawMessage) (any, *acp.RequestError) {
	if method != acp.ClientMethodSessionRequestPermission {
		return nil, acp.NewMethodNotFound(method)
	}
	var ask acpAsk
	tolerant(params, &ask)
	a.mu.Lock()
	if a.asks.Err() != nil { // nobody waits for handlers any more
		a.mu.Unlock()
		return acpOutcome(""), nil
	}
	a.handlers.Add(1)
	a.mu.Unlock()
	defer a.handlers.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.asks, cancel)()
	a.t.mu.Lock()
	q := a.log.request(ask.Call)
	a.t.mu.Unlock()
	if q.Op == ralph.OpTool && strings.HasPrefix(q.Tool, ownTools) && len(a.t.in.MCP) > 0 {
		// It talks to this very turn. So Claude's adapter calls it; others do not ask.
		return acpOutcome(a.answered(ctx, ask, q, ralph.Reply{Allow: true}, nil)), nil
	}
	r, err := a.asking.answer(ctx, q)
	return acpOutcome(a.answered(ctx, ask, q, r, err)), nil
}

// answered notes the answer and returns the option that says it, "" for cancelled.
func (a *acpTurn) answered(ctx context.Context, ask acpAsk, q ralph.Request, r ralph.Reply, err error) string {
	a.t.mu.Lock()
	defer a.t.mu.Unlock()
	a.t.emit(ralph.StreamEvent{Kind: ralph.StreamResolved, Thread: a.log.session, Request: ralph.Request{ID: q.ID}})
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
	if a.asking.ask == nil && len(a.log.denied) < maxDenied {
		a.log.denied = append(a.log.denied, q.Text)
	}
	return ask.option("reject_once", "reject_always")
}

// option is the id of the first kind that is offered: ids are each agent's own, kinds
// are the protocol's. "For always" is taken where nothing less can be said.
func (k acpAsk) option(kinds ...string) string {
	for _, kind := range kinds {
		for _, o := range k.Options {
			if o.Kind == kind {
				return o.ID
			}
		}
	}
	return ""
}

func acpOutcome(option string) acpObject {
	if option == "" {
		return acpObject{"outcome": acpObject{"outcome": "cancelled"}}
	}
	return acpObject{"outcome": acpObject{"outcome": "selected", "optionId": option}}
}

// asked tells that a request came. It may be the first that is heard of the call.
func (l *acpLog) asked(params []byte) {
	var ask acpAsk
	tolerant(params, &ask)
	l.close()
	if c := l.merge(ask.Call); c != nil && !c.begun {
		l.tell(c)
	}
	l.t.emit(ralph.StreamEvent{Kind: ralph.StreamApproval, Thread: l.session, Request: l.request(ask.Call)})
}

// request is what the agent wants to do, from the request and what was heard of the
// call before. Command is set only where the agent says what it would run: a title is
// for people, and may be short of the truth.
func (l *acpLog) request(u acpUpdate) ralph.Request {
	q := ralph.Request{ID: u.Call, Kind: ralph.RequestApproval, Op: ralph.OpTool, Tool: u.Op, Text: startLine(u.Title, maxSaidTool)}
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
			q.Text = startLine(q.Command, maxSaidTool)
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
			q.Text = strings.TrimSpace(q.Tool + " " + startLine(strings.Join(q.Paths, ", "), maxSaidTool))
		}
	}
	if q.Command != "" && members(u.Input) == 1 {
		return q // the command is all there is to see
	}
	if len(u.Input) > 2 {
		q.Detail = compact(u.Input, maxDetail)
	} else if len(u.Content) > 2 {
		q.Detail = compact(u.Content, maxDetail)
	}
	return q
}

func members(object []byte) (n int) {
	eachMember(object, func(_, _ []byte) { n++ })
	return n
}

// commandOf is the shell text that a call would run, as its input says.
func commandOf(input []byte) string {
	command := ""
	eachMember(input, func(key, value []byte) {
		if string(key) != "command" {
			return
		}
		if command = text(value); command != "" {
			return
		}
		var words []string
		eachElement(value, func(word []byte) { words = append(words, text(word)) })
		if len(words) == 3 && isShell(words[0]) && (words[1] == "-c" || words[1] == "-lc") {
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
	eachMember(input, func(key, value []byte) {
		if k := string(key); k == "cwd" || k == "workdir" {
			dir = text(value)
		}
	})
	return dir
}

// pathsOf are the files that a call is about, from wherever its agent says it.
func pathsOf(u acpUpdate) []string {
	var paths []string
	add := func(p string) {
		if p != "" && !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	eachElement(u.Content, func(block []byte) {
		eachMember(block, func(key, value []byte) {
			if string(key) == "path" {
				add(text(value))
			}
		})
	})
	for _, p := range u.Locations {
		add(p.Path)
	}
	eachMember(u.Input, func(key, value []byte) {
		switch string(key) {
		case "file_path", "filePath", "filepath", "fileName", "notebook_path", "path":
			add(text(value))
		}
	})
	return paths
}

// outputOf is what a call gave back.
func outputOf(u acpUpdate) string {
	var out []string
	if len(u.Content) > 0 && bytes.HasPrefix(bytes.TrimSpace(u.Content), []byte("[")) {
		eachElement(u.Content, func(block []byte) {
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
		if s := text(bytes.TrimSpace(u.Output)); s != "" {
			return s
		}
	}
	return strings.Join(out, "\n")
}
