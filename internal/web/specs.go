package web

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/web/markup"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// Specs are the files in ralph/specs. Names are relative to it, and never lead out.
type Specs interface {
	List() ([]SpecFile, error)
	// Read is the beginning of a file, at most MostSpec bytes.
	Read(name string) (SpecFile, []byte, error)
}

// SpecFile is one file in ralph/specs.
type SpecFile struct {
	Name      string
	Size      int64
	ChangedAt time.Time
}

// MostSpec is how much of a spec is shown, in bytes: agents are given no longer ones.
const MostSpec = 1 << 20

const (
	maxSpecRows  = 300
	maxQueueRows = 100
	maxSpecTasks = 200
	maxHeadings  = 60
)

// specs is the queue and all specs there are; ?q= chooses among them.
func specs(_ context.Context, r *request) (view.Page, error) {
	w := r.server.opt.Backend.Context()
	queue := view.QueueModel{Offers: offersBut(action.AllAvailable(r.state, w, action.Inbox, ""), "queue"), Engine: r.engine.Alive}
	for _, x := range r.state.Inbox {
		if x.Status != ralph.SpecPending && x.Status != ralph.SpecActive {
			continue
		}
		if x.Status == ralph.SpecPending {
			queue.Waiting++
		}
		if len(queue.Rows) == maxQueueRows {
			queue.More++
			continue
		}
		row := view.QueueRow{Spec: x, Offers: action.AllAvailable(r.state, w, action.Spec, string(x.ID))}
		if x.Status == ralph.SpecPending {
			row.Place = queue.Waiting
		}
		queue.Rows = append(queue.Rows, row)
	}
	list := view.SpecsModel{Query: strings.TrimSpace(r.URL.Query().Get("q"))}
	rows, err := r.specRows()
	if err != nil {
		return view.Page{}, err
	}
	list.Total = len(rows)
	for _, row := range rows {
		switch {
		case !strings.Contains(strings.ToLower(row.Name), strings.ToLower(list.Query)):
		case len(list.Rows) == maxSpecRows:
			list.More++
		default:
			list.Rows = append(list.Rows, row)
		}
	}
	return view.Page{Title: "Specs", Sections: []view.Section{
		{ID: "queue", Class: "two-thirds", Body: view.Queue(queue)},
		{ID: "new", Class: "third", Body: view.NewSpec()},
		{ID: "list", Body: view.Specs(list)},
	}}, nil
}

// offersBut are offers without one that a page shows in another way.
func offersBut(offers []action.Available, name string) []action.Available {
	return slices.DeleteFunc(offers, func(o action.Available) bool { return o.Action == name })
}

// specRows are all specs that have a file or a record, those at work first, then as they
// were last changed.
func (r *request) specRows() ([]view.SpecRow, error) {
	var files []SpecFile
	if s := r.server.opt.Specs; s != nil {
		var err error
		if files, err = s.List(); err != nil {
			return nil, fmt.Errorf("list the specs: %w", err)
		}
	}
	byName := map[string]*view.SpecRow{}
	for _, f := range files {
		byName[f.Name] = &view.SpecRow{Name: f.Name, Size: f.Size, ChangedAt: f.ChangedAt}
	}
	for _, x := range r.state.Inbox {
		row := byName[x.File]
		if row == nil {
			row = &view.SpecRow{Name: x.File, Missing: r.server.opt.Specs != nil}
			byName[x.File] = row
		}
		row.Times++
		row.Last = newer(row.Last, x)
	}
	out := make([]view.SpecRow, 0, len(byName))
	for _, row := range byName {
		row.Progress = r.progressOf(row.Name)
		if row.Last == nil || row.Last.Status == ralph.SpecDone || row.Last.Status == ralph.SpecFailed {
			if !row.Missing {
				row.Offers = []action.Available{queueOf(row.Name, row.Last != nil, false)}
			}
		}
		out = append(out, *row)
	}
	slices.SortFunc(out, func(a, b view.SpecRow) int {
		return cmp.Or(cmp.Compare(rank(a.Last), rank(b.Last)), b.ChangedAt.Compare(a.ChangedAt), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// newer is the record that says where a spec stands: the one at work, one that waits, or
// the latest.
func newer(a, b *ralph.Spec) *ralph.Spec {
	if a == nil || rank(b) < rank(a) || rank(a) == rank(b) && !b.EndedAt.Before(a.EndedAt) && b.Status != ralph.SpecPending {
		return b
	}
	return a
}

func rank(x *ralph.Spec) int {
	switch {
	case x == nil:
		return 2
	case x.Status == ralph.SpecActive:
		return 0
	case x.Status == ralph.SpecPending:
		return 1
	}
	return 2
}

// queueOf is the button that queues a file.
func queueOf(name string, again, primary bool) action.Available {
	title := "Queue"
	if again {
		title = "Queue again"
	}
	return action.Available{Action: "queue", Title: title, Primary: primary, Preset: action.Input{File: name}}
}

// progressOf is how far the plan of a spec is; only the newest plan is known.
func (r *request) progressOf(file string) view.SpecProgress {
	var p view.SpecProgress
	if r.state.Plan.File != file {
		return p
	}
	for _, t := range r.state.Plan.Tasks {
		if !t.IsBuild() || t.Status == ralph.TaskSkipped {
			continue
		}
		p.Total++
		switch t.Status {
		case ralph.TaskDone:
			p.Done++
		case ralph.TaskActive:
			p.Active++
		case ralph.TaskFailed, ralph.TaskTimeout, ralph.TaskBlocked:
			p.Bad++
		}
	}
	return p
}

// spec is one spec: its text, how far it is, what became of it so far.
func spec(_ context.Context, r *request) (view.Page, error) {
	name := r.PathValue("name")
	m := view.SpecModel{Name: name, Progress: r.progressOf(name), Raw: r.URL.Query().Has("raw")}
	for _, x := range r.state.Inbox {
		if x.File == name {
			m.Last = newer(m.Last, x)
			m.Records = append(m.Records, x)
		}
	}
	slices.Reverse(m.Records) // the newest first
	m.MoreRecords = max(0, len(m.Records)-maxQueueRows)
	m.Records = m.Records[:len(m.Records)-m.MoreRecords]
	if err := r.specText(&m); err != nil {
		return view.Page{}, err
	}
	w := r.server.opt.Backend.Context()
	queued := len(r.state.Queued(name)) > 0
	if !m.Missing && !queued {
		m.Offers = append(m.Offers, queueOf(name, m.Last != nil, true))
	}
	if m.Last != nil {
		m.Offers = append(m.Offers, offersBut(action.AllAvailable(r.state, w, action.Spec, string(m.Last.ID)), "requeue")...)
	}
	if p := r.state.Plan; p.File == name {
		m.Planned, m.Cost, m.Turns, m.Elapsed = true, p.Usage.Cost, p.Turns, r.state.JobElapsed(r.now).Truncate(time.Second)
		if r.state.Job != nil && r.state.Job.File == name && r.engine.Alive {
			m.RunningSince = r.now.Add(-m.Elapsed)
		}
		for _, t := range p.Tasks {
			switch {
			case !t.IsBuild():
			case len(m.Tasks) == maxSpecTasks:
				m.MoreTasks++
			default:
				m.Tasks = append(m.Tasks, t)
			}
		}
	}
	return view.Page{Title: name, Sections: []view.Section{
		{ID: "head", Body: view.SpecHead(m)},
		{ID: "text", Class: "two-thirds", Body: view.SpecText(m)},
		{ID: "side", Class: "third", Body: view.SpecSide(m)},
	}}, nil
}

// specText reads the file of a spec, which may be gone when there is a record of it.
func (r *request) specText(m *view.SpecModel) error {
	if r.server.opt.Specs == nil {
		m.Missing = true
		return nil
	}
	file, text, err := r.server.opt.Specs.Read(m.Name)
	switch {
	case err != nil && m.Last == nil && r.state.Plan.File != m.Name:
		return err
	case err != nil:
		m.Missing = true
		return nil
	}
	m.Size, m.ChangedAt, m.Cut = file.Size, file.ChangedAt, file.Size-int64(len(text))
	if m.Raw {
		m.Text = markup.Code("", text)
		return nil
	}
	m.Doc = r.server.docs.of("spec", text, markup.Document)
	m.MoreHeadings = max(0, len(m.Doc.Headings)-maxHeadings)
	m.Doc.Headings = m.Doc.Headings[:len(m.Doc.Headings)-m.MoreHeadings]
	m.Text = m.Doc.HTML
	return nil
}
