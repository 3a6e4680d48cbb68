package web

import (
	"context"
	"fmt"

	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/web/markup"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// Specs are the files in ralph/specs. Names are relative to it, and never lead out.
type Specs interface {
	List() ([]SpecFile, error)
	// Read is the beginning of a file, at most specfile.MaxSize bytes.
	Read(name string) (SpecFile, []byte, error)
}

// SpecFile is one file in ralph/specs.
type SpecFile = page.SpecFile

// maxHeadings of a spec are listed.
const maxHeadings = 60

// specs is the queue and all specs there are; ?q= chooses among them.
func specs(_ context.Context, r *request) (view.Page, error) {
	var files []SpecFile
	known := r.server.opt.Specs
	if known != nil {
		var err error
		if files, err = known.List(); err != nil {
			return view.Page{}, fmt.Errorf("list the specs: %w", err)
		}
	}
	found := r.SpecList(files, known != nil, r.URL.Query().Get("q"))
	return view.Page{Title: "Specs", Sections: []view.Section{
		{ID: "queue", Class: "two-thirds", Body: view.Queue(r.Queue())},
		{ID: "new", Class: "third", Body: view.NewSpec()},
		{ID: "list", Body: view.Specs(found)},
	}}, nil
}

// spec is one spec: its text, how far it is, what became of it so far.
func spec(_ context.Context, r *request) (view.Page, error) {
	name := r.PathValue("name")
	m := r.Spec(name)
	m.Raw = r.URL.Query().Has("raw")
	if err := r.specText(&m); err != nil {
		return view.Page{}, err
	}
	m.Offer(r.Look.Look)
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
	case err != nil && m.Last == nil && r.State.Plan.File != m.Name:
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
	m.Doc = r.server.docs.Of("spec", text, markup.Document)
	m.MoreHeadings = max(0, len(m.Doc.Headings)-maxHeadings)
	m.Doc.Headings = m.Doc.Headings[:len(m.Doc.Headings)-m.MoreHeadings]
	m.Text = m.Doc.HTML
	return nil
}
