package step

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy/settings"
)

// Touched is a file that differs between two trees: what it is in each, "" where it is not.
type Touched struct{ Path, Was, Now string }

// maxShown is how much of the diff of settings a gate shows, in bytes.
const maxShown = 6 << 10

// selfWords tell an agent what a red check of its settings means.
const selfWords = "These are settings that the next start, git, CI or an agent would act on: a person looks at them. " +
	"Leave them as they were unless the task asks for them.\n"

// settings are the changes of settings between two trees that no person has approved in
// this job (S2), and the beginning of how. Each names its whole content: approved is that,
// and nothing that only looks like it. Files in left are left out of a commit.
func (x *Executor) settings(ctx context.Context, s *ralph.State, dir, from, to string, left []ralph.LeftFile) ([]ralph.Finding, string, error) {
	if x.Touched == nil || !x.Config.Diff.Looks(ralph.CheckSettings) || from == to {
		return nil, "", nil
	}
	files, patch, err := x.Touched(ctx, dir, from, to, settings.Is)
	if err != nil {
		return nil, "", fmt.Errorf("look for changed settings: %w", err)
	}
	var list []ralph.Finding
	for _, f := range files {
		if i := slices.IndexFunc(left, func(l ralph.LeftFile) bool { return l.Path == f.Path }); i >= 0 {
			if left[i].Was == "" {
				continue // the commit leaves it as HEAD has it
			}
			f.Now = left[i].Was // what an agent had made of it goes into the commit
		}
		if slices.Contains(s.Theirs, ralph.LeftFile{Path: f.Path, Now: f.Now}) {
			continue // no agent made it so
		}
		what := settings.Of(f.Path)
		switch {
		case f.Was == "":
			what += ", new: " + f.Now
		case f.Now == "":
			what += ", deleted"
		default:
			what += ", changed to: " + f.Now
		}
		list = append(list, ralph.Finding{Path: f.Path, Kind: "settings", What: what})
	}
	list = s.Unseen(list)
	if len(list) == 0 {
		return nil, "", nil
	}
	if len(list) < len(files) { // what a person has seen is not shown again
		in := func(path string) bool {
			return slices.ContainsFunc(list, func(f ralph.Finding) bool { return f.Path == path })
		}
		if _, patch, err = x.Touched(ctx, dir, from, to, in); err != nil {
			return nil, "", fmt.Errorf("look for changed settings: %w", err)
		}
	}
	shown := strings.ToValidUTF8(string(patch), "?")
	if len(shown) > maxShown {
		shown = shown[:strings.LastIndexByte(shown[:maxShown], '\n')+1] + "... (git diff has the rest)\n"
	}
	return list, strings.ToValidUTF8(shown, ""), nil
}

// theirs are the settings in the checkout that others have changed between two looks at it.
// Where git has forgotten a tree nobody can tell, and all changes are taken for the agent's.
func (x *Executor) theirs(ctx context.Context, from, to string) ([]ralph.LeftFile, error) {
	if x.Touched == nil || from == "" || to == "" || from == to || !x.Config.Diff.Looks(ralph.CheckSettings) {
		return nil, nil
	}
	files, _, err := x.Touched(ctx, x.Root, from, to, settings.Is)
	if err != nil {
		return nil, ctx.Err()
	}
	var list []ralph.LeftFile
	for _, f := range files {
		list = append(list, ralph.LeftFile{Path: f.Path, Now: f.Now})
	}
	return list, nil
}

// checkSettings is settings as a check of a task's own diff.
func (x *Executor) checkSettings(ctx context.Context, s *ralph.State, t *ralph.Task, from, to string) ([]ralph.CheckResult, error) {
	if x.Touched == nil || !x.Config.Diff.Looks(ralph.CheckSettings) {
		return nil, nil
	}
	begin := x.Now()
	list, shown, err := x.settings(ctx, s, x.dir(t), from, to, nil)
	if err != nil {
		return nil, err
	}
	r := found(list, "the diff changes settings")
	if len(list) > 0 {
		r.Output += selfWords + "\n" + shown
	}
	r.Name, r.Pass, r.Took = ralph.CheckSettings, r.Exit == 0, x.Now().Sub(begin)
	return []ralph.CheckResult{r}, nil
}

// heldCommit looks at what a commit in the checkout would change of settings, also by a
// stage that no check comes after; tree is what was seen just now, if anybody looked. nil: nothing new.
func (x *Executor) heldCommit(ctx context.Context, s *ralph.State, t *ralph.Task, tree string, left []ralph.LeftFile) (*ralph.Committed, error) {
	if x.Touched == nil || !x.Config.Diff.Looks(ralph.CheckSettings) {
		return nil, nil
	}
	if tree == "" {
		var err error
		if tree, _, err = x.snapshot(ctx, s, t); err != nil {
			return nil, err
		}
	}
	list, shown, err := x.settings(ctx, s, x.Root, began(s), tree, left)
	if err != nil && began(s) != s.Job.Base && ctx.Err() == nil {
		list, shown, err = x.settings(ctx, s, x.Root, s.Job.Base, tree, left) // git has forgotten the tree: no branch holds it
	}
	if err != nil || len(list) == 0 {
		return nil, err
	}
	var names []string
	for _, f := range list {
		names = append(names, f.Path)
	}
	const most = 5
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", more))
	}
	away := "the commit changes settings that a person looks at: " + strings.Join(names, ", ")
	return &ralph.Committed{Away: away, Settings: list, Shown: shown}, nil
}

// began is what the job in the checkout began with: a person's own changes, which it took
// along on purpose, are none of its agents'.
func began(s *ralph.State) string {
	for _, t := range s.Stages {
		if t.Kind == ralph.KindPrepare && t.Run.Tree != "" {
			return t.Run.Tree
		}
	}
	return s.Job.Base
}
