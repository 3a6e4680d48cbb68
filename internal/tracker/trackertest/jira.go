package trackertest

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// patchJira mends the document: the times that Jira sends are not those of RFC 3339, which
// "date-time" asks for, and an answer of 204 has no body.
func patchJira(tree map[string]any) {
	walk(tree, func(x map[string]any) {
		if x["format"] == "date-time" {
			delete(x, "format")
		}
		if answer, ok := x["204"].(map[string]any); ok {
			delete(answer, "content")
		}
	})
}

const jiraTime = "2006-01-02T15:04:05.000-0700"

// jira is Jira Cloud: issues by PROJ-7.
func (s *Server) jira(m *http.ServeMux) {
	m.HandleFunc("GET /rest/api/3/myself", func(w http.ResponseWriter, q *http.Request) {
		if _, token, _ := q.BasicAuth(); token != "token" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		reply(w, http.StatusOK, map[string]any{"displayName": "Anna", "emailAddress": "anna@example.com"})
	})
	m.HandleFunc("GET /rest/api/3/issue/{k}", func(w http.ResponseWriter, q *http.Request) {
		s.edit(w, q.PathValue("k"), func(x *Item) (int, any) { return http.StatusOK, jiraIssue(x) })
	})
	m.HandleFunc("PUT /rest/api/3/issue/{k}", func(w http.ResponseWriter, q *http.Request) {
		var in struct {
			Fields map[string]any
			Update struct{ Labels []map[string]string }
		}
		read(q, &in)
		s.dawdle()
		s.edit(w, q.PathValue("k"), func(x *Item) (int, any) {
			for _, l := range in.Update.Labels {
				x.Labels = slices.DeleteFunc(x.Labels, func(s string) bool { return s == l["remove"] || s == l["add"] })
				if l["add"] != "" {
					x.Labels = append(x.Labels, l["add"])
				}
			}
			for k, v := range in.Fields {
				x.Fields[k] = v
			}
			return http.StatusNoContent, nil
		})
	})
	s.jiraComments(m)
	m.HandleFunc("GET /rest/api/3/issue/{k}/transitions", func(w http.ResponseWriter, q *http.Request) {
		s.edit(w, q.PathValue("k"), func(x *Item) (int, any) {
			var list []any
			for i, name := range []string{"To Do", "In Progress", "Done"} {
				if name != x.State {
					list = append(list, map[string]any{"id": strconv.Itoa(i + 1), "name": "Go to " + name, "to": map[string]any{"name": name}})
				}
			}
			return http.StatusOK, map[string]any{"transitions": list}
		})
	})
	m.HandleFunc("POST /rest/api/3/issue/{k}/transitions", func(w http.ResponseWriter, q *http.Request) {
		var in struct{ Transition struct{ ID string } }
		read(q, &in)
		s.dawdle()
		s.edit(w, q.PathValue("k"), func(x *Item) (int, any) {
			x.State = map[string]string{"1": "To Do", "2": "In Progress", "3": "Done"}[in.Transition.ID]
			return http.StatusNoContent, nil
		})
	})
	m.HandleFunc("GET /rest/api/3/search/jql", func(w http.ResponseWriter, q *http.Request) {
		s.mu.Lock()
		var all []any
		for _, k := range slices.Sorted(maps.Keys(s.items)) {
			if jqlFinds(q.URL.Query().Get("jql"), s.items[k]) {
				all = append(all, jiraIssue(s.items[k]))
			}
		}
		s.mu.Unlock()
		most, _ := strconv.Atoi(q.URL.Query().Get("maxResults"))
		from, _ := strconv.Atoi(q.URL.Query().Get("nextPageToken"))
		page := map[string]any{"issues": append([]any{}, all[min(from, len(all)):min(from+most, len(all))]...), "isLast": from+most >= len(all)}
		if from+most < len(all) {
			page["nextPageToken"] = strconv.Itoa(from + most)
		}
		reply(w, http.StatusOK, page)
	})
	// Data Center speaks version 2, for which there is no document.
	s.extra.HandleFunc("POST /rest/api/2/issue/{k}/comment", func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") != "Bearer token" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		s.addJiraComment(w, q)
	})
}

func (s *Server) jiraComments(m *http.ServeMux) {
	m.HandleFunc("POST /rest/api/3/issue/{k}/comment", s.addJiraComment)
	m.HandleFunc("GET /rest/api/3/issue/{k}/comment", func(w http.ResponseWriter, q *http.Request) {
		s.edit(w, q.PathValue("k"), func(x *Item) (int, any) {
			list := []any{}
			for _, c := range slices.Backward(x.Comments) {
				list = append(list, jiraComment(c))
			}
			if q.URL.Query().Get("orderBy") == "created" {
				slices.Reverse(list)
			}
			return http.StatusOK, map[string]any{"comments": list, "startAt": 0, "maxResults": 100, "total": len(list)}
		})
	})
	m.HandleFunc("PUT /rest/api/3/issue/{k}/comment/{id}", func(w http.ResponseWriter, q *http.Request) {
		var in struct{ Body json.RawMessage }
		read(q, &in)
		s.dawdle()
		s.edit(w, q.PathValue("k"), func(x *Item) (int, any) {
			for i := range x.Comments {
				if c := &x.Comments[i]; strconv.Itoa(c.ID) == q.PathValue("id") {
					c.Text = string(in.Body)
					c.Edits++
					return http.StatusOK, jiraComment(*c)
				}
			}
			return http.StatusNotFound, map[string]any{"errorMessages": []string{"no such comment"}}
		})
	})
	m.HandleFunc("GET /rest/api/3/comment/{id}/properties/{p}", func(w http.ResponseWriter, q *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, x := range s.items {
			for _, c := range x.Comments {
				if strconv.Itoa(c.ID) == q.PathValue("id") && c.Marker != "" {
					reply(w, http.StatusOK, map[string]any{"key": q.PathValue("p"), "value": map[string]any{"id": c.Marker}})
					return
				}
			}
		}
		reply(w, http.StatusNotFound, map[string]any{"errorMessages": []string{"no such property"}})
	})
}

func (s *Server) addJiraComment(w http.ResponseWriter, q *http.Request) {
	var in struct {
		Body       json.RawMessage
		Properties []struct{ Value struct{ ID string } }
	}
	read(q, &in)
	s.dawdle()
	s.edit(w, q.PathValue("k"), func(x *Item) (int, any) {
		c := Comment{ID: s.newID(), Text: string(in.Body), At: time.Now()}
		if len(in.Properties) > 0 {
			c.Marker = in.Properties[0].Value.ID
		}
		x.Comments = append(x.Comments, c)
		return http.StatusCreated, jiraComment(c)
	})
}

func jiraComment(c Comment) map[string]any {
	return map[string]any{"id": strconv.Itoa(c.ID), "body": json.RawMessage(c.Text), "created": c.At.Format(jiraTime), "updated": c.At.Format(jiraTime), "author": jiraPerson(cmp.Or(c.Author, "Ben"), "atlassian")}
}

// jiraPerson is somebody as others see him: his address is kept back.
func jiraPerson(name, kind string) map[string]any {
	return map[string]any{"displayName": name, "accountId": "id-" + strings.ToLower(name), "accountType": kind}
}

func jiraIssue(x *Item) map[string]any {
	category := map[string]any{"key": "indeterminate"}
	if x.State == "Done" {
		category["key"] = "done"
	}
	files := []any{}
	for _, name := range x.Attached {
		files = append(files, map[string]any{"filename": name, "content": "https://example.com/secure/attachment/" + name})
	}
	doc := map[string]any{"type": "doc", "version": 1, "content": []any{map[string]any{"type": "paragraph", "content": []any{map[string]any{"type": "text", "text": x.Body}}}}}
	return map[string]any{"id": "1", "key": x.Key, "fields": map[string]any{
		"summary": x.Title, "description": doc, "status": map[string]any{"name": x.State, "statusCategory": category}, "labels": append([]string{}, x.Labels...),
		"creator": jiraPerson(x.author(), cmp.Or(x.Kind, "atlassian")), "updated": x.updated().Format(jiraTime), "comment": map[string]any{"total": len(x.Comments)}, "attachment": files,
	}}
}

// jqlFinds knows so much of JQL as the tests use.
func jqlFinds(jql string, x *Item) bool {
	jql, _, _ = strings.Cut(jql, " ORDER BY ")
	for term := range strings.SplitSeq(jql, " AND ") {
		field, value, _ := strings.Cut(term, " = ")
		value = strings.Trim(value, `"`)
		switch {
		case field == "labels" && !slices.Contains(x.Labels, value), field == "project" && !strings.HasPrefix(x.Key, value+"-"), term == "statusCategory != Done" && x.State == "Done":
			return false
		}
	}
	return true
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
