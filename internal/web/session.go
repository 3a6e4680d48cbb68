package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/a-h/templ"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/screen/history"
	"github.com/ralph-loop/ralph/internal/sessionreport"
	"github.com/ralph-loop/ralph/internal/web/index"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// session is the page of one session: its report.
func session(_ context.Context, r *request) (view.Page, error) {
	id := ralph.SessionID(r.PathValue("id"))
	s, ok := r.server.index.Session(id)
	if !ok && r.Read.Caught {
		return view.Page{}, noSession(id)
	}
	reading := history.ReadingOf(r.State, r.Read)
	m := view.SessionModel{Read: reading, ID: id, Status: "pending", Ended: "not read yet"}
	if ok {
		all := r.server.index.Sessions()
		m = history.SessionOf(r.Look.Look, &s, all)
		m.Read, m.LogFile = reading, logFile(r.server.opt.Root, &s) != ""
		_, _, last := history.Around(&s, all)
		made := r.server.reports.Of(id, s.First, last)
		m.Report = made.Page
		if made.Page == nil {
			m.Read.Read, m.Read.Of = min(made.Read, last-s.First+1), last-s.First+1
		}
		if made.Err != nil {
			m.Read.Trouble = made.Err.Error()
		}
	}
	return view.Page{Title: "Session", Sections: sessionSections(m)}, nil
}

// sessionSections are the parts of the page, empty ones too: a page keeps its sections.
func sessionSections(m view.SessionModel) []view.Section {
	with := func(part func(*sessionreport.Page) templ.Component) templ.Component {
		if m.Report == nil {
			return templ.NopComponent
		}
		return part(m.Report)
	}
	var charts templ.Component = templ.NopComponent
	if m.Report != nil {
		charts = view.Charts(view.SessionCharts(m))
	}
	return []view.Section{
		{ID: "session-head", Body: view.SessionHead(m)},
		{ID: "session-figures", Body: with(view.SessionFigures)},
		{ID: "session-timeline", Body: with(view.SessionTimeline)},
		{ID: "session-charts", Body: charts},
		{ID: "session-tasks", Body: with(view.SessionTasks)},
		{ID: "session-why", Body: with(view.SessionWhy)},
		{ID: "session-tables", Body: with(view.SessionTables)},
	}
}

func noSession(id ralph.SessionID) error {
	return &ralph.Refusal{Why: fmt.Sprintf("there is no session %.60q in the journal", id), Hint: "the history lists all of them", Kind: ralph.ErrNotFound}
}

// logFile is the agent log of a session, where it is still there: a file of the folder
// that ralph writes its logs to, and nothing else that a journal may name.
func logFile(root string, s *index.Session) (name string) {
	const folder = "build/ralph-logs"
	if s.Log == "" || filepath.ToSlash(filepath.Dir(filepath.Clean(s.Log))) != folder {
		return ""
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return ""
	}
	defer dir.Close()
	if info, err := dir.Lstat(s.Log); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return filepath.Clean(s.Log)
}

// agentLog sends the agent log of a session as plain text.
func (x *Server) agentLog(w http.ResponseWriter, r *http.Request) {
	id := ralph.SessionID(r.PathValue("id"))
	s, ok := x.index.Session(id)
	path := ""
	if ok {
		path = logFile(x.opt.Root, &s)
	}
	if path == "" {
		x.refuse(w, r, &ralph.Refusal{Why: "the log file of this session is not there any more", Hint: "its log page shows what the journal has", Kind: ralph.ErrNotFound})
		return
	}
	f, err := os.OpenInRoot(x.opt.Root, path)
	if err != nil {
		x.refuse(w, r, fmt.Errorf("read the log: %w", err))
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.Copy(w, f)
}

// sessionFile sends what lies below a session: files of its report, else pages.
func (x *Server) sessionFile(w http.ResponseWriter, r *http.Request) {
	switch r.PathValue("file") {
	case "report.md", "report.json", "report.html":
		x.reportFile(w, r)
	default:
		x.show(w, r)
	}
}

// reportFile sends the report of a session as a file. It is an attachment: the HTML has
// its style inside, which the policy of this server's pages forbids, and it is to be kept
// and passed on anyway.
func (x *Server) reportFile(w http.ResponseWriter, r *http.Request) {
	id := ralph.SessionID(r.PathValue("id"))
	s, ok := x.index.Session(id)
	kinds := map[string]string{"md": "text/markdown; charset=utf-8", "json": "application/json", "html": "text/html; charset=utf-8"}
	format := strings.TrimPrefix(r.PathValue("file"), "report.")
	if !ok || kinds[format] == "" {
		x.refuse(w, r, noSession(id))
		return
	}
	var b bytes.Buffer
	err := x.reportOf(r.Context(), s, func(result *sessionreport.Result) error {
		switch format {
		case "md":
			return result.Markdown(&b)
		case "json":
			return result.JSON(&b)
		}
		return result.HTML(&b)
	})
	if err != nil {
		x.refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", kinds[format])
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", "ralph-"+fileName(string(s.ID))+"."+format))
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(b.Bytes())
}

// reportOf gives the report of a session to write, which must not keep it.
func (x *Server) reportOf(ctx context.Context, s index.Session, write func(*sessionreport.Result) error) error {
	_, _, last := history.Around(&s, x.index.Sessions())
	return x.reports.Result(ctx, s.ID, s.First, last, write)
}

// fileName keeps what may stand in a file's name: a journal may come from anywhere.
func fileName(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, s)
}

// refuse answers with the page of an error.
func (x *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	x.write(w, r, statusOf(err), x.watch.Look(), view.Failed(err))
}
