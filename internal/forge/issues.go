package forge

import (
	"context"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/tracker"
)

// Issue is an issue with what people wrote on it.
type Issue struct {
	tracker.Item
	Said []tracker.Said
}

// IsIssue reports whether something is named as an item of a tracker, and not as a file.
func IsIssue(name string) bool {
	_, err := tracker.Parse(name, tracker.Places{GitHubRepo: "owner/name"})
	return err == nil || strings.Contains(name, "://") || strings.Contains(name, "#") && !strings.HasSuffix(name, ".md")
}

// whole reads what people wrote on an item.
func (w *Watcher) whole(ctx context.Context, i tracker.Item) (Issue, error) {
	said, err := w.reach(i.Ref.Service).Client.Comments(ctx, i.Ref)
	// What ralph has said there itself is no part of what is asked.
	own := "ralph:" + w.Journal.State().Journal + "-"
	said = slices.DeleteFunc(said, func(c tracker.Said) bool { return strings.Contains(c.Text, own) })
	return Issue{Item: i, Said: said}, err
}

// issue reads an issue with its comments.
func (w *Watcher) issue(ctx context.Context, ref tracker.Ref) (Issue, error) {
	i, err := w.reach(ref.Service).Client.Item(ctx, ref, "")
	if err != nil {
		return Issue{}, err
	}
	return w.whole(ctx, i)
}

func tracked(i tracker.Item) ralph.Tracked {
	labels := slices.Sorted(slices.Values(i.Labels))
	return ralph.Tracked{Ref: i.Ref.String(), URL: i.URL, Title: i.Title, Author: i.Author, Closed: i.Closed, Labels: labels, Updated: i.Updated}
}
