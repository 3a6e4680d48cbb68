package step

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/livingdocs"
	"github.com/ralph-loop/ralph/internal/specdoc"
)

// work is what was recorded of the work on the job.
func (x *Executor) work(s *ralph.State) specdoc.Work {
	spec, err := x.specs.Read(x.Root, s.Job.File)
	if err != nil {
		spec = "" // somebody took it away meanwhile: what came of it is told all the same
	}
	return specdoc.Of(s, spec)
}

// pagesHere writes the living docs in the checkout, so that the commit of the spec takes them
// along, and returns the names of all that it may have written, before a kill too.
func (x *Executor) pagesHere(s *ralph.State) ([]string, error) {
	pages, err := x.Docs.Changed(x.work(s), x.Root)
	if err == nil {
		err = livingdocs.Write(x.Root, pages)
	}
	return x.Docs.Files(s.Job.File), err
}

// withPages puts the living docs on top of what is merged, for the commit of a spec. It returns
// the commit that has them. Where git ignores them they are written in the person's checkout.
func (x *Executor) withPages(ctx context.Context, s *ralph.State, tip string) (string, error) {
	dir, work := filepath.Join(x.Root, mergeDir), x.work(s)
	pages, err := x.Docs.Changed(work, dir)
	if err != nil || len(pages) == 0 {
		return tip, err
	}
	commit, ignored, err := x.Merging.WithFiles(ctx, dir, tip, pages)
	if err != nil || len(ignored) == 0 {
		return commit, err
	}
	if pages, err = x.Docs.Changed(work, x.Root); err != nil {
		return "", err
	}
	for name := range pages {
		if !slices.Contains(ignored, name) {
			delete(pages, name)
		}
	}
	return commit, livingdocs.Write(x.Root, pages)
}
