package trackertest

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// github is GitHub: issues by owner/name#12.
func (s *Server) github(m *http.ServeMux) {
	key := func(q *http.Request) string {
		return fmt.Sprintf("%s/%s#%s", q.PathValue("o"), q.PathValue("r"), q.PathValue("n"))
	}
	m.HandleFunc("GET /repos/{o}/{r}/issues/{n}", func(w http.ResponseWriter, q *http.Request) {
		s.edit(w, key(q), func(x *Item) (int, any) {
			etag := fmt.Sprintf(`"%d"`, x.Rev)
			w.Header().Set("ETag", etag)
			if q.Header.Get("If-None-Match") == etag {
				return http.StatusNotModified, nil
			}
			return http.StatusOK, s.githubIssue(x)
		})
	})
	m.HandleFunc("GET /repos/{o}/{r}/issues", func(w http.ResponseWriter, q *http.Request) {
		s.mu.Lock()
		list := []any{}
		number := func(key string) int { n, _ := strconv.Atoi(key[strings.LastIndex(key, "#")+1:]); return n }
		for _, k := range slices.SortedFunc(maps.Keys(s.items), func(a, b string) int { return number(a) - number(b) }) {
			x := s.items[k]
			if label := q.URL.Query().Get("labels"); label == "" || slices.Contains(x.Labels, label) {
				list = append(list, s.githubIssue(x))
			}
		}
		s.mu.Unlock()
		s.page(w, q, list)
	})
	m.HandleFunc("PATCH /repos/{o}/{r}/issues/{n}", func(w http.ResponseWriter, q *http.Request) {
		var in struct{ State string }
		read(q, &in)
		s.dawdle()
		s.edit(w, key(q), func(x *Item) (int, any) {
			if in.State != "" {
				x.State = in.State
			}
			x.Rev++
			return http.StatusOK, s.githubIssue(x)
		})
	})
	m.HandleFunc("GET /repos/{o}/{r}/issues/{n}/comments", func(w http.ResponseWriter, q *http.Request) {
		since, _ := time.Parse(time.RFC3339, q.URL.Query().Get("since"))
		list := []any{}
		for _, c := range s.Item(key(q)).Comments {
			if !c.At.Before(since) {
				list = append(list, s.githubComment(c))
			}
		}
		s.page(w, q, list)
	})
	m.HandleFunc("POST /repos/{o}/{r}/issues/{n}/comments", func(w http.ResponseWriter, q *http.Request) {
		var in struct{ Body string }
		read(q, &in)
		s.dawdle()
		s.edit(w, key(q), func(x *Item) (int, any) {
			c := Comment{ID: s.newID(), Text: in.Body, At: time.Now()}
			x.Comments = append(x.Comments, c)
			x.Rev++
			return http.StatusCreated, s.githubComment(c)
		})
	})
	m.HandleFunc("PATCH /repos/{o}/{r}/issues/comments/{id}", func(w http.ResponseWriter, q *http.Request) {
		var in struct{ Body string }
		read(q, &in)
		s.dawdle()
		s.githubEdit(w, q.PathValue("id"), func(c *Comment) (int, any) {
			c.Text = in.Body
			c.Edits++
			return http.StatusOK, s.githubComment(*c)
		})
	})
	m.HandleFunc("DELETE /repos/{o}/{r}/issues/comments/{id}", func(w http.ResponseWriter, q *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, x := range s.items {
			x.Comments = slices.DeleteFunc(x.Comments, func(c Comment) bool { return strconv.Itoa(c.ID) == q.PathValue("id") })
		}
		w.WriteHeader(http.StatusNoContent)
	})
	s.githubLabels(m, key)
	s.githubProjects(m)
	s.githubAccount(m)
}

// page answers with a page of a list: by its etag, and with the address of the next one.
func (s *Server) page(w http.ResponseWriter, q *http.Request, list []any) {
	v := q.URL.Query()
	size, _ := strconv.Atoi(v.Get("per_page"))
	size = max(1, min(100, cmp.Or(size, 30)))
	n, _ := strconv.Atoi(v.Get("page"))
	n = max(1, n)
	from, to := min(len(list), (n-1)*size), min(len(list), n*size)
	if to < len(list) {
		v.Set("page", strconv.Itoa(n+1))
		w.Header().Set("Link", fmt.Sprintf("<%s%s?%s>; rel=\"next\"", s.URL, q.URL.Path, v.Encode()))
	}
	text, _ := json.Marshal(list[from:to])
	tag := fmt.Sprintf(`W/"%x"`, sha256.Sum256(text))
	w.Header().Set("ETag", tag)
	if q.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	reply(w, http.StatusOK, list[from:to])
}

func (s *Server) githubLabels(m *http.ServeMux, key func(*http.Request) string) {
	m.HandleFunc("POST /repos/{o}/{r}/issues/{n}/labels", func(w http.ResponseWriter, q *http.Request) {
		var in struct{ Labels []string }
		read(q, &in)
		s.edit(w, key(q), func(x *Item) (int, any) {
			for _, l := range in.Labels {
				if !slices.Contains(x.Labels, l) {
					x.Labels = append(x.Labels, l)
				}
			}
			return http.StatusOK, s.githubLabelList(x)
		})
	})
	m.HandleFunc("DELETE /repos/{o}/{r}/issues/{n}/labels/{l}", func(w http.ResponseWriter, q *http.Request) {
		s.edit(w, key(q), func(x *Item) (int, any) {
			if !slices.Contains(x.Labels, q.PathValue("l")) {
				return http.StatusNotFound, map[string]any{"message": "Label does not exist", "documentation_url": "https://example.com", "status": "404"}
			}
			x.Labels = slices.DeleteFunc(x.Labels, func(l string) bool { return l == q.PathValue("l") })
			return http.StatusOK, s.githubLabelList(x)
		})
	})
}

func (s *Server) githubProjects(m *http.ServeMux) {
	m.HandleFunc("GET /orgs/{o}/projectsV2/{p}/fields", func(w http.ResponseWriter, _ *http.Request) {
		name := func(raw string) map[string]any { return map[string]any{"raw": raw, "html": raw} }
		option := func(id, raw string) map[string]any {
			return map[string]any{"id": id, "name": name(raw), "description": name(""), "color": "GRAY"}
		}
		reply(w, http.StatusOK, []any{map[string]any{
			"id": 7, "node_id": "F_7", "name": "Status", "data_type": "single_select", "project_url": "https://api.example.com/projects/1",
			"created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z", "options": []any{option("a1", "Todo"), option("b2", "In progress"), option("c3", "Done")},
		}})
	})
	m.HandleFunc("POST /orgs/{o}/projectsV2/{p}/items", func(w http.ResponseWriter, q *http.Request) {
		var in struct {
			Owner, Repo string
			Number      int
		}
		read(q, &in)
		item := s.doc.example("projects-v2-item-simple")
		item["id"] = in.Number
		s.mu.Lock()
		if x := s.items[fmt.Sprintf("%s/%s#%d", in.Owner, in.Repo, in.Number)]; x != nil {
			x.Fields["project"] = q.PathValue("p")
		}
		s.mu.Unlock()
		reply(w, http.StatusCreated, item)
	})
	m.HandleFunc("PATCH /orgs/{o}/projectsV2/{p}/items/{id}", func(w http.ResponseWriter, q *http.Request) {
		var in struct {
			Fields []struct {
				ID    int
				Value any
			}
		}
		read(q, &in)
		s.mu.Lock()
		for _, x := range s.items {
			if x.Fields["project"] == q.PathValue("p") {
				for _, f := range in.Fields {
					x.Fields[fmt.Sprint("field ", f.ID)] = f.Value
				}
			}
		}
		s.mu.Unlock()
		reply(w, http.StatusOK, s.doc.example("projects-v2-item-with-content"))
	})
}

func (s *Server) githubAccount(m *http.ServeMux) {
	m.HandleFunc("GET /user", func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") != "Bearer token" {
			reply(w, http.StatusUnauthorized, map[string]any{"message": "Bad credentials"})
			return
		}
		user := s.doc.example("private-user-response-with-public-profile-information")
		user["login"], user["user_view_type"] = "anna", "public"
		reply(w, http.StatusOK, user)
	})
	m.HandleFunc("GET /repos/{o}/{r}", func(w http.ResponseWriter, q *http.Request) {
		may := q.PathValue("r") != "readonly"
		repo := s.doc.example("full-repository-default-response")
		repo["full_name"] = q.PathValue("o") + "/" + q.PathValue("r")
		repo["permissions"] = map[string]bool{"pull": true, "triage": may, "push": may, "admin": false}
		reply(w, http.StatusOK, repo)
	})
}

func (s *Server) githubEdit(w http.ResponseWriter, id string, change func(c *Comment) (int, any)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.items {
		for i := range x.Comments {
			if strconv.Itoa(x.Comments[i].ID) == id {
				code, v := change(&x.Comments[i])
				reply(w, code, v)
				return
			}
		}
	}
	reply(w, http.StatusNotFound, map[string]any{"message": "Not Found"})
}

func (s *Server) githubIssue(x *Item) map[string]any {
	out := s.doc.example("issue")
	_, n, _ := cutLast(x.Key, "#")
	number, _ := strconv.Atoi(n)
	out["number"], out["title"], out["body"], out["state"], out["comments"] = number, x.Title, x.Body, x.State, len(x.Comments)
	out["labels"] = s.githubLabelList(x)
	delete(out, "pull_request")
	if x.State == "" {
		out["state"] = "open"
	}
	return out
}

func (s *Server) githubComment(c Comment) map[string]any {
	out := s.doc.example("issue-comment")
	out["id"], out["body"] = c.ID, c.Text
	return out
}

func (s *Server) githubLabelList(x *Item) []any {
	list := []any{}
	for i, l := range x.Labels {
		list = append(list, map[string]any{"id": i + 1, "node_id": "L", "url": "https://example.com/labels", "name": l, "description": nil, "color": "ededed", "default": false})
	}
	return list
}
