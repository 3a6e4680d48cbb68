package page

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/queue"
	"github.com/ralph-loop/ralph/internal/web/markup"
)

// SpecFile is one file in ralph/specs.
type SpecFile struct {
	Name      string
	Size      int64
	ChangedAt time.Time
}

// QueueModel is the inbox: what is worked on, and what comes after it.
type QueueModel struct {
	Rows    []QueueRow
	More    int // that are not shown
	Waiting int
	Engine  bool
	Offers  []action.Available
}

// QueueRow is a record that waits or runs.
type QueueRow struct {
	Spec   *ralph.Spec
	Place  int // among those that wait, from 1; 0 for one at work
	Offers []action.Available
}

// SpecsModel is the list of all specs.
type SpecsModel struct {
	Query string
	Rows  []SpecRow
	Total int
	More  int // that fit the query and are not shown
}

// SpecRow is one spec.
type SpecRow struct {
	Name      string
	Size      int64
	ChangedAt time.Time
	Missing   bool        // there is a record, and no file
	Last      *ralph.Spec // the record that says where it stands, nil for none
	Times     int         // it was queued
	Progress  SpecProgress
	Offers    []action.Available
}

// SpecProgress counts the tasks of a plan.
type SpecProgress struct{ Done, Active, Bad, Total int }

// SpecModel is the page of one spec.
type SpecModel struct {
	Name         string
	Missing      bool
	Size         int64
	ChangedAt    time.Time
	Cut          int64 // bytes that are not shown
	Raw          bool
	Text         string // HTML of internal/web/markup
	Doc          markup.Doc
	MoreHeadings int
	Last         *ralph.Spec
	Records      []*ralph.Spec // the newest first
	MoreRecords  int
	Offers       []action.Available

	Planned      bool // the plan is its plan: what follows is known
	Progress     SpecProgress
	Tasks        []*ralph.Task
	MoreTasks    int
	Cost         float64
	Turns        int
	Elapsed      time.Duration
	RunningSince time.Time // zero when nobody works on it
}

const (
	maxSpecRows  = 300
	maxQueueRows = 100
	maxSpecTasks = 200
)

// Queue is the inbox: what is worked on, and what waits.
func (r Look) Queue() QueueModel {
	w := r.World()
	waits := QueueModel{Offers: offersBut(action.AllAvailable(r.State, w, action.Inbox, ""), "queue"), Engine: r.Engine.Alive}
	list := slices.DeleteFunc(slices.Clone(r.State.Inbox), func(x *ralph.Spec) bool { return x.Status != ralph.SpecActive })
	for _, x := range append(list, queue.Waiting(r.State)...) {
		if x.Status == ralph.SpecPending {
			waits.Waiting++
		}
		if len(waits.Rows) == maxQueueRows {
			waits.More++
			continue
		}
		row := QueueRow{Spec: x, Offers: action.AllAvailable(r.State, w, action.Spec, string(x.ID))}
		if x.Status == ralph.SpecPending {
			row.Place = waits.Waiting
		}
		waits.Rows = append(waits.Rows, row)
	}
	return waits
}

// SpecList is all specs that have a file or a record, those with the words of query in their names;
// known says that files are all there are.
func (r Look) SpecList(files []SpecFile, known bool, query string) SpecsModel {
	found := SpecsModel{Query: strings.TrimSpace(query)}
	rows := r.specRows(files, known)
	found.Total = len(rows)
	for _, row := range rows {
		switch {
		case !strings.Contains(strings.ToLower(row.Name), strings.ToLower(found.Query)):
		case len(found.Rows) == maxSpecRows:
			found.More++
		default:
			found.Rows = append(found.Rows, row)
		}
	}
	return found
}

// Spec is one spec as far as the state knows it: how far it is, what became of it so far.
func (r Look) Spec(name string) SpecModel {
	m := SpecModel{Name: name, Progress: r.progressOf(name)}
	for _, x := range r.State.Inbox {
		if x.File == name {
			m.Last = newer(m.Last, x)
			m.Records = append(m.Records, x)
		}
	}
	slices.Reverse(m.Records) // the newest first
	m.MoreRecords = max(0, len(m.Records)-maxQueueRows)
	m.Records = m.Records[:len(m.Records)-m.MoreRecords]
	p := r.State.Plan
	if p.File != name {
		return m
	}
	m.Planned, m.Cost, m.Turns, m.Elapsed = true, p.Usage.Cost, p.Turns, r.State.JobElapsed(r.Now).Truncate(time.Second)
	if r.State.Job != nil && r.State.Job.File == name && r.Engine.Alive {
		m.RunningSince = r.Now.Add(-m.Elapsed)
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
	return m
}

// Offer fills in what can be done with a spec whose file was looked for.
func (m *SpecModel) Offer(r Look) {
	if queued := len(r.State.Queued(m.Name)) > 0; !m.Missing && !queued {
		m.Offers = append(m.Offers, queueOf(m.Name, m.Last != nil, true))
	}
	if m.Last != nil {
		m.Offers = append(m.Offers, offersBut(action.AllAvailable(r.State, r.World(), action.Spec, string(m.Last.ID)), "requeue")...)
	}
}

// offersBut are offers without one that a page shows in another way.
func offersBut(offers []action.Available, name string) []action.Available {
	return slices.DeleteFunc(offers, func(o action.Available) bool { return o.Action == name })
}

// specRows are all specs that have a file or a record, those at work first, then as they
// were last changed. Without known a record without a file is nothing to be told.
func (r Look) specRows(files []SpecFile, known bool) []SpecRow {
	byName := map[string]*SpecRow{}
	for _, f := range files {
		byName[f.Name] = &SpecRow{Name: f.Name, Size: f.Size, ChangedAt: f.ChangedAt}
	}
	for _, x := range r.State.Inbox {
		row := byName[x.File]
		if row == nil {
			row = &SpecRow{Name: x.File, Missing: known}
			byName[x.File] = row
		}
		row.Times++
		row.Last = newer(row.Last, x)
	}
	out := make([]SpecRow, 0, len(byName))
	for _, row := range byName {
		row.Progress = r.progressOf(row.Name)
		if row.Last == nil || row.Last.Status == ralph.SpecDone || row.Last.Status == ralph.SpecFailed {
			if !row.Missing {
				row.Offers = []action.Available{queueOf(row.Name, row.Last != nil, false)}
			}
		}
		out = append(out, *row)
	}
	slices.SortFunc(out, func(a, b SpecRow) int {
		return cmp.Or(cmp.Compare(specRank(a.Last), specRank(b.Last)), b.ChangedAt.Compare(a.ChangedAt), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// newer is the record that says where a spec stands: the one at work, one that waits, or
// the latest.
func newer(a, b *ralph.Spec) *ralph.Spec {
	if a == nil || specRank(b) < specRank(a) || specRank(a) == specRank(b) && !b.EndedAt.Before(a.EndedAt) && b.Status != ralph.SpecPending {
		return b
	}
	return a
}

func specRank(x *ralph.Spec) int {
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
func (r Look) progressOf(file string) SpecProgress {
	var p SpecProgress
	if r.State.Plan.File != file {
		return p
	}
	for _, t := range r.State.Plan.Tasks {
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
