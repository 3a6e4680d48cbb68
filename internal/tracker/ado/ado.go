// Package ado is Azure DevOps as a tracker: work items, their comments, tags, fields and states,
// at dev.azure.com and at Azure DevOps Server.
//
// It does NOT own what is sent, nor when (outbox).
package ado

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/tracker"
)

// Client is Azure DevOps.
type Client struct {
	access      tracker.Access
	http        *http.Client
	api         string // the version
	commentsAPI string // the version of the comments' API
}

var _ interface {
	tracker.Client
	tracker.Searcher
	tracker.Reader
	tracker.Guarded
} = (*Client)(nil)

// New makes a client. The address is that of the organization, or of a server's collection.
func New(a tracker.Access) (*Client, error) {
	u, err := url.Parse(a.URL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("reach Azure DevOps: %q is no address (`sync.ado.url`)", a.URL)
	}
	a.URL = strings.TrimSuffix(a.URL, "/")
	c := &Client{access: a, http: a.HTTPClient(), api: "7.1", commentsAPI: "7.1-preview.4"}
	if u.Host != "dev.azure.com" && !strings.HasSuffix(u.Host, ".visualstudio.com") {
		c.api, c.commentsAPI = "6.0", "6.0-preview.3" // Azure DevOps Server 2020 and newer
	}
	return c, nil
}

// Do is any call of the work items' API. path begins below the project.
func (c *Client) Do(ctx context.Context, doing, method, path string, body, out any) (tracker.Meta, error) {
	return c.call(ctx, doing, method, path, c.api, "application/json", body, out)
}

func (c *Client) call(ctx context.Context, doing, method, path, version, kind string, body, out any) (tracker.Meta, error) {
	var send bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&send).Encode(body); err != nil {
			return tracker.Meta{}, fmt.Errorf("%s: %w", doing, err)
		}
	}
	mark := "?"
	if strings.Contains(path, "?") {
		mark = "&"
	}
	req, err := http.NewRequestWithContext(ctx, method, c.access.URL+"/"+url.PathEscape(c.access.Project)+"/_apis/wit"+path+mark+"api-version="+version, &send)
	if err != nil {
		return tracker.Meta{}, fmt.Errorf("%s: %w", doing, err)
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", kind)
	}
	req.SetBasicAuth("", c.access.Token)
	return tracker.Do(c.http, ralph.AzureDevOps, doing, req, out)
}

// Check implements tracker.Client. Who the token belongs to is said by no call of this API.
func (c *Client) Check(ctx context.Context) (string, error) {
	_, err := c.Do(ctx, "look at the project "+c.access.Project, http.MethodPost, "/wiql?$top=1", map[string]string{"query": "SELECT [System.Id] FROM WorkItems WHERE [System.Id] = 0"}, nil)
	return "the token's owner", err
}

// workItem is a work item as it comes.
type workItem struct {
	ID                int
	Rev               int
	Fields            map[string]any
	CommentVersionRef struct{ CommentID int }
	Relations         []struct {
		Rel, URL   string
		Attributes struct{ Name string }
	}
	MultilineFieldsFormat map[string]string // newer ones: a text can be Markdown
}

// person is somebody as he comes.
type person struct{ DisplayName, UniqueName, ID string }

func (p person) words() string { return cmp.Or(p.UniqueName, p.DisplayName) }

func (w workItem) person(name string) person {
	v, _ := w.Fields[name].(map[string]any)
	text := func(k string) string { s, _ := v[k].(string); return s }
	return person{text("displayName"), text("uniqueName"), text("id")}
}

// text is a field of several lines.
func (w workItem) text(name string) string {
	if strings.EqualFold(w.MultilineFieldsFormat[name], "markdown") {
		return w.field(name)
	}
	return plain(w.field(name))
}

// body is what is asked for: bugs have it in a field of their own.
func (w workItem) body() string {
	var all []string
	for _, f := range [][2]string{{"System.Description", ""}, {"Microsoft.VSTS.TCM.ReproSteps", "## Steps to reproduce\n\n"}, {"Microsoft.VSTS.Common.AcceptanceCriteria", "## Acceptance criteria\n\n"}} {
		if s := w.text(f[0]); s != "" {
			all = append(all, f[1]+s)
		}
	}
	return strings.Join(all, "\n\n")
}

func (c *Client) item(w workItem) tracker.Item {
	ref := tracker.Ref{Service: ralph.AzureDevOps, Key: strconv.Itoa(w.ID)}
	state, author := w.field("System.State"), w.person("System.CreatedBy")
	out := tracker.Item{
		Ref: ref, Title: w.field("System.Title"), Body: w.body(), URL: c.pageOf(ref), Author: author.words(), Member: author.UniqueName != "",
		State: state, Closed: slices.Contains(closedStates(), state), Labels: w.tags(), Rev: w.Rev,
	}
	for _, name := range []string{author.UniqueName, author.ID} {
		if name != "" {
			out.Names = append(out.Names, name)
		}
	}
	out.Updated, _ = time.Parse(time.RFC3339, w.field("System.ChangedDate"))
	if n, ok := w.Fields["System.CommentCount"].(float64); ok {
		out.Comments = int(n)
	}
	for _, r := range w.Relations {
		if r.Rel == "AttachedFile" {
			out.Attached = append(out.Attached, tracker.Attachment{Name: r.Attributes.Name, URL: r.URL})
		}
	}
	return out
}

// closedStates are those of the processes that come with the service in which nothing is left to do.
func closedStates() []string {
	return []string{"Closed", "Done", "Resolved", "Removed", "Completed"}
}

func (w workItem) field(name string) string {
	s, _ := w.Fields[name].(string)
	return s
}

func (w workItem) tags() []string {
	var all []string
	for tag := range strings.SplitSeq(w.field("System.Tags"), ";") {
		if tag = strings.TrimSpace(tag); tag != "" {
			all = append(all, tag)
		}
	}
	return all
}

func itemPath(ref tracker.Ref) string { return "/workitems/" + url.PathEscape(ref.Key) }

// pageOf is the address of an item for people.
func (c *Client) pageOf(ref tracker.Ref) string {
	return c.access.URL + "/" + url.PathEscape(c.access.Project) + "/_workitems/edit/" + url.PathEscape(ref.Key)
}

func (c *Client) read(ctx context.Context, ref tracker.Ref) (workItem, error) {
	var w workItem
	_, err := c.Do(ctx, "read "+ref.String(), http.MethodGet, itemPath(ref), nil, &w)
	return w, err
}

// Item implements tracker.Client. Azure DevOps has no conditional requests.
func (c *Client) Item(ctx context.Context, ref tracker.Ref, _ string) (tracker.Item, error) {
	var w workItem
	if _, err := c.Do(ctx, "read "+ref.String(), http.MethodGet, itemPath(ref)+"?$expand=relations", nil, &w); err != nil {
		return tracker.Item{}, err
	}
	return c.item(w), nil
}

// Revision implements tracker.Guarded.
func (c *Client) Revision(ctx context.Context, ref tracker.Ref) (int, error) {
	w, err := c.read(ctx, ref)
	return w.Rev, err
}

// maxFound bounds how many items of a query are read, which is what one call can ask for.
const maxFound = 200

// Search implements tracker.Searcher, by WIQL, its condition alone, or by words.
func (c *Client) Search(ctx context.Context, query, _ string) (tracker.Page, error) {
	wiql, w, err := wiqlOf(query)
	if err != nil {
		return tracker.Page{}, err
	}
	var list struct{ WorkItems []struct{ ID int } }
	if _, err := c.Do(ctx, "search work items", http.MethodPost, fmt.Sprintf("/wiql?$top=%d", maxFound+1), map[string]string{"query": wiql}, &list); err != nil {
		return tracker.Page{}, err
	}
	page := tracker.Page{More: len(list.WorkItems) > maxFound}
	var ids []int
	for _, x := range list.WorkItems[:min(len(list.WorkItems), maxFound)] {
		ids = append(ids, x.ID)
	}
	if len(ids) == 0 {
		return page, nil
	}
	var found struct{ Value []workItem }
	_, err = c.Do(ctx, "read work items", http.MethodPost, "/workitemsbatch", map[string]any{
		"ids": ids, "errorPolicy": "omit",
		"fields": []string{"System.Title", "System.Description", "System.State", "System.Tags", "System.CreatedBy", "System.ChangedDate", "System.CommentCount"},
	}, &found)
	if err != nil {
		return tracker.Page{}, err
	}
	for _, x := range found.Value {
		item := c.item(x)
		if x.ID > 0 && !slices.ContainsFunc(w.Labels, func(l string) bool { return !containsFold(item.Labels, l) }) {
			page.Items = append(page.Items, item)
		}
	}
	return page, nil
}

// wiqlOf is a query as WIQL. One in words is read as well, as CONTAINS may find parts of tags.
func wiqlOf(query string) (string, tracker.Words, error) {
	const all = "SELECT [System.Id] FROM WorkItems WHERE [System.TeamProject] = @project AND "
	w, is, err := tracker.ParseWords(query)
	switch {
	case err != nil:
		return "", w, err
	case !is && len(query) > 6 && strings.EqualFold(query[:6], "select"):
		return query, w, nil
	case !is:
		return all + "(" + query + ")", w, nil
	}
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	terms := []string{"[System.Id] > 0"}
	for _, l := range w.Labels {
		terms = append(terms, "[System.Tags] CONTAINS "+quote(l))
	}
	closed := "('" + strings.Join(closedStates(), "', '") + "')"
	switch w.State {
	case "open":
		terms = append(terms, "[System.State] NOT IN "+closed)
	case "closed":
		terms = append(terms, "[System.State] IN "+closed)
	}
	for field, who := range map[string]string{"[System.CreatedBy] = ": w.Author, "[System.AssignedTo] = ": w.Assignee} {
		if who != "" {
			terms = append(terms, field+quote(who))
		}
	}
	slices.Sort(terms[1:])
	return all + strings.Join(terms, " AND ") + " ORDER BY [System.CreatedDate] ASC", w, nil
}

// operation is one of a patch of a work item.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

func (c *Client) patch(ctx context.Context, doing string, ref tracker.Ref, ops []operation) (workItem, error) {
	var w workItem
	_, err := c.call(ctx, doing, http.MethodPatch, itemPath(ref), c.api, "application/json-patch+json", ops, &w)
	return w, err
}

// Comment implements tracker.Client: a write to the history of the item as it was at c.Rev.
func (c *Client) Comment(ctx context.Context, ref tracker.Ref, x tracker.Comment) (tracker.Remote, error) {
	var ops []operation
	if x.Rev > 0 {
		ops = append(ops, operation{"test", "/rev", x.Rev})
	}
	w, err := c.patch(ctx, "comment on "+ref.String(), ref, append(ops, operation{"add", "/fields/System.History", text(x)}))
	if err != nil {
		return tracker.Remote{}, err
	}
	r := tracker.Remote{URL: c.pageOf(ref)}
	if id := w.CommentVersionRef.CommentID; id > 0 {
		r.ID = strconv.Itoa(id)
	}
	return r, nil
}

// comment is a comment as it comes: recordings have commentId where the document has id.
type comment struct {
	ID          int
	CommentID   int
	Text        string
	Format      string
	CreatedBy   person
	CreatedDate time.Time
}

func (c *Client) remote(ref tracker.Ref, x comment) tracker.Remote {
	return tracker.Remote{ID: strconv.Itoa(max(x.ID, x.CommentID)), URL: c.pageOf(ref)}
}

// Edit implements tracker.Client.
func (c *Client) Edit(ctx context.Context, ref tracker.Ref, id string, x tracker.Comment) (tracker.Remote, error) {
	var made comment
	_, err := c.call(ctx, "edit the comment on "+ref.String(), http.MethodPatch, "/workItems/"+url.PathEscape(ref.Key)+"/comments/"+url.PathEscape(id), c.commentsAPI, "application/json", map[string]string{"text": text(x)}, &made)
	return c.remote(ref, made), err
}

// comments reads all comments of an item, the oldest first.
func (c *Client) comments(ctx context.Context, doing string, ref tracker.Ref) ([]comment, error) {
	var all []comment
	next := ""
	for {
		var list struct {
			Comments          []comment
			ContinuationToken string
		}
		path := "/workItems/" + url.PathEscape(ref.Key) + "/comments?$top=200"
		if next != "" {
			path += "&continuationToken=" + url.QueryEscape(next)
		}
		if _, err := c.call(ctx, doing, http.MethodGet, path, c.commentsAPI, "", nil, &list); err != nil {
			return nil, err
		}
		all = append(all, list.Comments...)
		if next = list.ContinuationToken; next == "" || len(list.Comments) == 0 {
			break
		}
	}
	for i := range all {
		all[i].ID = max(all[i].ID, all[i].CommentID)
	}
	slices.SortFunc(all, func(a, b comment) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// Comments implements tracker.Reader.
func (c *Client) Comments(ctx context.Context, ref tracker.Ref) ([]tracker.Said, error) {
	list, err := c.comments(ctx, "read the comments of "+ref.String(), ref)
	said := make([]tracker.Said, len(list))
	for i, x := range list {
		said[i] = tracker.Said{ID: int64(x.ID), Text: x.Text, Author: x.CreatedBy.words(), At: x.CreatedDate}
		if !strings.EqualFold(x.Format, "markdown") {
			said[i].Text = plain(x.Text)
		}
	}
	return said, err
}

// Find implements tracker.Client.
func (c *Client) Find(ctx context.Context, ref tracker.Ref, marker string, _ time.Time) ([]tracker.Remote, error) {
	list, err := c.comments(ctx, "look for a comment on "+ref.String(), ref)
	var found []tracker.Remote
	for _, x := range list {
		if strings.Contains(x.Text, visible(marker)+"<") || strings.HasSuffix(x.Text, visible(marker)) {
			found = append(found, c.remote(ref, x))
		}
	}
	return found, err
}

// Set implements tracker.Client: one write, made for the revision that was read, as tags are one field.
func (c *Client) Set(ctx context.Context, ref tracker.Ref, x tracker.Change) error {
	for try := 0; ; try++ {
		w, err := c.read(ctx, ref)
		if err != nil {
			return err
		}
		ops := changes(w, x)
		if len(ops) == 0 {
			return nil
		}
		_, err = c.patch(ctx, "edit "+ref.String(), ref, append([]operation{{"test", "/rev", w.Rev}}, ops...))
		if tries := 5; err == nil || tracker.KindOf(err) != tracker.Conflict || try >= tries {
			return err
		}
	}
}

// changes are the operations that make of an item what is wanted: none, when it is that.
func changes(w workItem, x tracker.Change) []operation {
	var ops []operation
	tags := w.tags()
	want := slices.DeleteFunc(slices.Clone(tags), func(t string) bool { return containsFold(x.Remove, t) })
	for _, t := range x.Add {
		if !containsFold(want, t) {
			want = append(want, t)
		}
	}
	if !slices.Equal(tags, want) {
		ops = append(ops, operation{"add", "/fields/System.Tags", strings.Join(want, "; ")})
	}
	if x.State != "" && !strings.EqualFold(w.field("System.State"), x.State) {
		ops = append(ops, operation{"add", "/fields/System.State", x.State})
	}
	for _, name := range slices.Sorted(maps.Keys(x.Fields)) {
		if w.field(name) != x.Fields[name] {
			ops = append(ops, operation{"add", "/fields/" + name, x.Fields[name]})
		}
	}
	return ops
}

func containsFold(list []string, s string) bool {
	return slices.ContainsFunc(list, func(x string) bool { return strings.EqualFold(x, s) })
}

func visible(marker string) string { return "ralph:" + marker }

// text is a comment as HTML, with a line that names its marker.
func text(x tracker.Comment) string {
	var b strings.Builder
	for _, block := range append(tracker.Blocks(x.Text), tracker.Block{Lines: []string{visible(x.Marker)}}) {
		tag, sep := "p", "<br>"
		if block.List {
			tag, sep = "ul", ""
		}
		var lines []string
		for _, line := range block.Lines {
			line = html.EscapeString(strings.ReplaceAll(line, "**", ""))
			if block.List {
				line = "<li>" + line + "</li>"
			}
			lines = append(lines, line)
		}
		b.WriteString("<" + tag + ">" + strings.Join(lines, sep) + "</" + tag + ">")
	}
	return b.String()
}
