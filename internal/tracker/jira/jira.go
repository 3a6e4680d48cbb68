// Package jira is Jira as a tracker: issues, their comments, labels, fields and transitions, in
// the Cloud (REST v3) and in Data Center (REST v2).
//
// It does NOT own what is sent, nor when (outbox).
package jira

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// Client is Jira. With a user it is the Cloud: basic authentication with a token, comments as
// documents. Without one it is Data Center: a personal access token, comments as text.
type Client struct {
	access tracker.Access
	http   *http.Client
	api    string // /rest/api/3 or /rest/api/2
}

var _ interface {
	tracker.Client
	tracker.Searcher
	tracker.Reader
} = (*Client)(nil)

// property is the entity property of our comments, with their marker.
const property = "ralph.event"

// New makes a client.
func New(a tracker.Access) (*Client, error) {
	if u, err := url.Parse(a.URL); err != nil || u.Host == "" {
		return nil, fmt.Errorf("reach Jira: %q is no address (`sync.jira.url`)", a.URL)
	}
	a.URL = strings.TrimSuffix(a.URL, "/")
	c := &Client{access: a, http: a.HTTPClient(), api: "/rest/api/2"}
	if a.User != "" {
		c.api = "/rest/api/3"
	}
	return c, nil
}

func (c *Client) cloud() bool { return c.access.User != "" }

// Do is any call of the API. path is relative to its version.
func (c *Client) Do(ctx context.Context, doing, method, path string, body, out any) (tracker.Meta, error) {
	var send bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&send).Encode(body); err != nil {
			return tracker.Meta{}, fmt.Errorf("%s: %w", doing, err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, c.access.URL+c.api+path, &send)
	if err != nil {
		return tracker.Meta{}, fmt.Errorf("%s: %w", doing, err)
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	switch {
	case c.cloud():
		req.SetBasicAuth(c.access.User, c.access.Token)
	case c.access.Token != "":
		req.Header.Set("Authorization", "Bearer "+c.access.Token)
	}
	return tracker.Do(c.http, ralph.Jira, doing, req, out)
}

// Check implements tracker.Client.
func (c *Client) Check(ctx context.Context) (string, error) {
	var me struct{ DisplayName, EmailAddress, Name string }
	_, err := c.Do(ctx, "look who the token belongs to", http.MethodGet, "/myself", nil, &me)
	for _, who := range []string{me.EmailAddress, me.DisplayName, me.Name} {
		if who != "" {
			return who, err
		}
	}
	return "", err
}

func issuePath(ref tracker.Ref, rest string) string {
	return "/issue/" + url.PathEscape(ref.Key) + rest
}

// person is somebody as he comes. In the Cloud his address is often kept back.
type person struct{ DisplayName, EmailAddress, Name, AccountID, AccountType string }

// words is what he is called, for people.
func (p person) words() string {
	for _, who := range []string{p.EmailAddress, p.Name, p.DisplayName} {
		if who != "" {
			return who
		}
	}
	return ""
}

// issue is an issue as it comes.
type issue struct {
	Key    string
	Fields struct {
		Summary     string
		Description json.RawMessage
		Status      struct {
			Name           string
			StatusCategory struct{ Key string }
		}
		Labels     []string
		Creator    person
		Updated    string
		Comment    struct{ Total int }
		Attachment []struct{ Filename, Content string }
	}
}

func (c *Client) item(i issue) tracker.Item {
	f := i.Fields
	out := tracker.Item{
		Ref: tracker.Ref{Service: ralph.Jira, Key: i.Key}, Title: f.Summary, Body: plain(f.Description), URL: c.access.URL + "/browse/" + i.Key,
		State: f.Status.Name, Closed: f.Status.StatusCategory.Key == "done", Labels: f.Labels, Comments: f.Comment.Total, Updated: parseTime(f.Updated),
		Author: f.Creator.words(), Member: c.cloud() && f.Creator.AccountType == "atlassian",
	}
	for _, name := range []string{f.Creator.EmailAddress, f.Creator.Name, f.Creator.AccountID} {
		if name != "" {
			out.Names = append(out.Names, name)
		}
	}
	for _, a := range f.Attachment {
		out.Attached = append(out.Attached, tracker.Attachment{Name: a.Filename, URL: a.Content})
	}
	return out
}

// parseTime reads a time as Jira writes it, which is not RFC 3339.
func parseTime(s string) time.Time {
	at, err := time.Parse("2006-01-02T15:04:05.000-0700", s)
	if err != nil {
		at, _ = time.Parse(time.RFC3339, s)
	}
	return at
}

const (
	listFields = "summary,description,status,labels,creator,updated,attachment"
	itemFields = listFields + ",comment"
)

// Item implements tracker.Client. Jira has no conditional requests.
func (c *Client) Item(ctx context.Context, ref tracker.Ref, _ string) (tracker.Item, error) {
	var i issue
	if _, err := c.Do(ctx, "read "+ref.Key, http.MethodGet, issuePath(ref, "?fields="+itemFields), nil, &i); err != nil {
		return tracker.Item{}, err
	}
	out := c.item(i)
	out.Ref = ref
	return out, nil
}

// maxPages bounds how much of a search is read, a hundred issues a page.
const maxPages = 10

// Search implements tracker.Searcher, by JQL or by words.
func (c *Client) Search(ctx context.Context, query, _ string) (tracker.Page, error) {
	query, err := c.jql(query)
	if err != nil {
		return tracker.Page{}, err
	}
	path := "/search"
	if c.cloud() {
		path = "/search/jql"
	}
	q := url.Values{"jql": {query}, "fields": {listFields}, "maxResults": {"100"}}
	page := tracker.Page{}
	for range maxPages {
		var list struct {
			Issues        []issue
			NextPageToken string
			Total         int
		}
		if _, err := c.Do(ctx, "search issues", http.MethodGet, path+"?"+q.Encode(), nil, &list); err != nil {
			return page, err
		}
		for _, i := range list.Issues {
			page.Items = append(page.Items, c.item(i))
		}
		if page.More = list.NextPageToken != "" || list.Total > len(page.Items); !page.More || len(list.Issues) == 0 {
			break
		}
		if c.cloud() {
			q.Set("nextPageToken", list.NextPageToken)
		} else {
			q.Set("startAt", strconv.Itoa(len(page.Items)))
		}
	}
	return page, nil
}

// jql is a query in words as JQL; one in JQL stays as it is.
func (c *Client) jql(query string) (string, error) {
	w, is, err := tracker.ParseWords(query)
	if !is || err != nil {
		return query, err
	}
	var all []string
	equal := func(field, value string) {
		if value != "" {
			all = append(all, field+` = "`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value)+`"`)
		}
	}
	equal("project", c.access.Project)
	for _, l := range w.Labels {
		equal("labels", l)
	}
	switch w.State {
	case "open":
		all = append(all, "statusCategory != Done")
	case "closed":
		all = append(all, "statusCategory = Done")
	}
	equal("creator", w.Author)
	equal("assignee", w.Assignee)
	return strings.Join(all, " AND ") + " ORDER BY created ASC", nil
}

// comment is a comment as it comes.
type comment struct {
	ID      string
	Body    json.RawMessage
	Created string
	Author  person
}

func (c *Client) remote(ref tracker.Ref, x comment) tracker.Remote {
	return tracker.Remote{ID: x.ID, URL: c.access.URL + "/browse/" + ref.Key + "?focusedCommentId=" + x.ID}
}

// body is what is sent: the text with a line that names the marker, and the marker as a property.
func (c *Client) body(x tracker.Comment) map[string]any {
	var text any = x.Text + "\n\n" + visible(x.Marker)
	if c.cloud() {
		text = document(x)
	}
	return map[string]any{"body": text, "properties": []any{map[string]any{"key": property, "value": map[string]string{"id": x.Marker}}}}
}

func visible(marker string) string { return "ralph:" + marker }

// Comment implements tracker.Client.
func (c *Client) Comment(ctx context.Context, ref tracker.Ref, x tracker.Comment) (tracker.Remote, error) {
	var made comment
	_, err := c.Do(ctx, "comment on "+ref.Key, http.MethodPost, issuePath(ref, "/comment"), c.body(x), &made)
	return c.remote(ref, made), err
}

// Edit implements tracker.Client.
func (c *Client) Edit(ctx context.Context, ref tracker.Ref, id string, x tracker.Comment) (tracker.Remote, error) {
	var made comment
	_, err := c.Do(ctx, "edit the comment on "+ref.Key, http.MethodPut, issuePath(ref, "/comment/"+url.PathEscape(id)), c.body(x), &made)
	return c.remote(ref, made), err
}

// maxComments bounds how many comments of an issue are read as text.
const maxComments = 100

// Comments implements tracker.Reader.
func (c *Client) Comments(ctx context.Context, ref tracker.Ref) ([]tracker.Said, error) {
	list, _, err := c.comments(ctx, "read the comments of "+ref.Key, ref, "created", 0)
	said := make([]tracker.Said, len(list))
	for i, x := range list {
		id, _ := strconv.ParseInt(x.ID, 10, 64)
		said[i] = tracker.Said{ID: id, Text: plain(x.Body), Author: x.Author.words(), At: parseTime(x.Created)}
	}
	return said, err
}

// comments is a page of the comments of an issue, and how many there are.
func (c *Client) comments(ctx context.Context, doing string, ref tracker.Ref, order string, from int) ([]comment, int, error) {
	var list struct {
		Comments []comment
		Total    int
	}
	_, err := c.Do(ctx, doing, http.MethodGet, issuePath(ref, fmt.Sprintf("/comment?orderBy=%s&maxResults=%d&startAt=%d", order, maxComments, from)), nil, &list)
	return list.Comments, list.Total, err
}

// Find implements tracker.Client. A comment is known by the line that names its marker, or, should
// a person have taken that out, by its property, which is asked for of those since then alone.
func (c *Client) Find(ctx context.Context, ref tracker.Ref, marker string, since time.Time) ([]tracker.Remote, error) {
	var found []tracker.Remote
	doing := "look for a comment on " + ref.Key
	for at := 0; ; {
		list, total, err := c.comments(ctx, doing, ref, "-created", at)
		if err != nil {
			return nil, err
		}
		old := false
		for _, x := range list {
			made := parseTime(x.Created)
			if old = !made.IsZero() && made.Before(since); old {
				break
			}
			ours, err := c.isOurs(ctx, doing, x, marker)
			if err != nil {
				return nil, err
			}
			if ours {
				found = append(found, c.remote(ref, x))
			}
		}
		at += len(list)
		if old || len(list) == 0 || at >= total {
			break
		}
	}
	slices.Reverse(found)
	return found, nil
}

func (c *Client) isOurs(ctx context.Context, doing string, x comment, marker string) (bool, error) {
	if bytes.Contains(x.Body, []byte(visible(marker)+`"`)) || bytes.Contains(x.Body, []byte(visible(marker)+`\n`)) {
		return true, nil
	}
	if bytes.Contains(x.Body, []byte(`"`+visible(""))) || bytes.Contains(x.Body, []byte(`\n`+visible(""))) {
		return false, nil // another one of ours: no call is spent on it
	}
	var p struct{ Value struct{ ID string } }
	_, err := c.Do(ctx, doing, http.MethodGet, "/comment/"+url.PathEscape(x.ID)+"/properties/"+property, nil, &p)
	if e, ok := errors.AsType[*tracker.Error](err); ok && e.Status == http.StatusNotFound {
		return false, nil
	}
	return p.Value.ID == marker, err
}

// Set implements tracker.Client. Labels and fields are one write, a state is a transition.
func (c *Client) Set(ctx context.Context, ref tracker.Ref, x tracker.Change) error {
	if len(x.Add)+len(x.Remove)+len(x.Fields) > 0 {
		body := map[string]any{}
		var labels []map[string]string
		for _, l := range x.Add {
			labels = append(labels, map[string]string{"add": l})
		}
		for _, l := range x.Remove {
			labels = append(labels, map[string]string{"remove": l})
		}
		if len(labels) > 0 {
			body["update"] = map[string]any{"labels": labels}
		}
		if len(x.Fields) > 0 {
			body["fields"] = fieldsOf(x.Fields)
		}
		if _, err := c.Do(ctx, "edit "+ref.Key, http.MethodPut, issuePath(ref, ""), body, nil); err != nil {
			return err
		}
	}
	if x.State == "" {
		return nil
	}
	return c.move(ctx, ref, x.State)
}

// fieldsOf are the values as the API wants them: JSON where it is some, else text.
func fieldsOf(fields map[string]string) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := fields[name]
		var v any = value
		if strings.HasPrefix(value, "{") || strings.HasPrefix(value, "[") {
			if json.Unmarshal([]byte(value), &v) != nil {
				v = value
			}
		}
		out[name] = v
	}
	return out
}

// move brings an issue to a state by the transition that leads there.
func (c *Client) move(ctx context.Context, ref tracker.Ref, state string) error {
	doing := fmt.Sprintf("move %s to %s", ref.Key, state)
	var list struct {
		Transitions []struct {
			ID, Name string
			To       struct{ Name string }
		}
	}
	if _, err := c.Do(ctx, doing, http.MethodGet, issuePath(ref, "/transitions"), nil, &list); err != nil {
		return err
	}
	var names []string
	for _, t := range list.Transitions {
		if strings.EqualFold(t.To.Name, state) || strings.EqualFold(t.Name, state) {
			_, err := c.Do(ctx, doing, http.MethodPost, issuePath(ref, "/transitions"), map[string]any{"transition": map[string]string{"id": t.ID}}, nil)
			return err
		}
		names = append(names, t.To.Name)
	}
	now, err := c.Item(ctx, ref, "")
	if err != nil || strings.EqualFold(now.State, state) {
		return err
	}
	return &tracker.Error{Service: ralph.Jira, Doing: doing, Status: http.StatusUnprocessableEntity, Message: fmt.Sprintf("from %q no transition leads there, but to %s", now.State, strings.Join(names, ", "))}
}
