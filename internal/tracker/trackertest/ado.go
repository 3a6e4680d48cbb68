package trackertest

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// patchADO mends the document: values of patches, fields and attributes of links are anything, not
// objects; comments are listed without ids as well; a query needs no team; lists have a count.
func patchADO(tree map[string]any) {
	definitions := tree["definitions"].(map[string]any)
	operation := definitions["JsonPatchOperation"].(map[string]any)["properties"].(map[string]any)
	operation["value"] = map[string]any{}
	delete(definitions["JsonPatchDocument"].(map[string]any), "type") // a list that is said to be an object
	item := definitions["WorkItem"].(map[string]any)["properties"].(map[string]any)
	item["fields"] = map[string]any{"type": "object"}
	definitions["Link"].(map[string]any)["properties"].(map[string]any)["attributes"] = map[string]any{"type": "object"}
	paths := tree["paths"].(map[string]any)
	const comments = "/{organization}/{project}/_apis/wit/workItems/{workItemId}/comments"
	for _, p := range paths[comments].(map[string]any)["get"].(map[string]any)["parameters"].([]any) {
		if p := p.(map[string]any); p["name"] == "ids" {
			p["required"] = false
		}
	}
	const wiql = "/{organization}/{project}/{team}/_apis/wit/wiql"
	query := paths[wiql].(map[string]any)
	delete(paths, wiql)
	post := query["post"].(map[string]any)
	// A list of items comes as it does elsewhere in this API: the recorded examples have it so.
	const batch = "/{organization}/{project}/_apis/wit/workitemsbatch"
	answer := paths[batch].(map[string]any)["post"].(map[string]any)["responses"].(map[string]any)["200"].(map[string]any)
	answer["schema"] = map[string]any{"type": "object", "required": []any{"count", "value"}, "properties": map[string]any{"count": map[string]any{"type": "integer"}, "value": answer["schema"]}}
	post["parameters"] = slices.DeleteFunc(post["parameters"].([]any), func(p any) bool { return p.(map[string]any)["name"] == "team" })
	paths["/{organization}/{project}/_apis/wit/wiql"] = query
}

// ado is Azure DevOps: work items by their number.
func (s *Server) ado(m *http.ServeMux) {
	m.HandleFunc("GET /{o}/{p}/_apis/wit/workitems/{n}", func(w http.ResponseWriter, q *http.Request) {
		s.edit(w, q.PathValue("n"), func(x *Item) (int, any) { return http.StatusOK, adoItem(x, 0) })
	})
	m.HandleFunc("PATCH /{o}/{p}/_apis/wit/workitems/{n}", func(w http.ResponseWriter, q *http.Request) {
		var ops []struct {
			Op, Path string
			Value    any
		}
		read(q, &ops)
		s.dawdle()
		s.edit(w, q.PathValue("n"), func(x *Item) (int, any) {
			made := 0
			for _, op := range ops {
				if op.Op == "test" && op.Value != float64(x.Rev) {
					return http.StatusPreconditionFailed, map[string]any{"message": fmt.Sprintf("VS403208: the work item is at revision %d", x.Rev)}
				}
			}
			for _, op := range ops {
				switch op.Path {
				case "/rev":
				case "/fields/System.History":
					made = s.newID()
					x.Comments = append(x.Comments, Comment{ID: made, Text: op.Value.(string), At: time.Now()})
				default:
					x.Fields[op.Path[len("/fields/"):]] = op.Value
				}
			}
			x.Rev++
			return http.StatusOK, adoItem(x, made)
		})
	})
	m.HandleFunc("GET /{o}/{p}/_apis/wit/workItems/{n}/comments", func(w http.ResponseWriter, q *http.Request) {
		s.edit(w, q.PathValue("n"), func(x *Item) (int, any) {
			list := []any{}
			for _, c := range slices.Backward(x.Comments) {
				list = append(list, adoComment(c))
			}
			return http.StatusOK, map[string]any{"comments": list, "count": len(list), "totalCount": len(list)}
		})
	})
	m.HandleFunc("PATCH /{o}/{p}/_apis/wit/workItems/{n}/comments/{id}", func(w http.ResponseWriter, q *http.Request) {
		var in struct{ Text string }
		read(q, &in)
		s.dawdle()
		s.edit(w, q.PathValue("n"), func(x *Item) (int, any) {
			for i := range x.Comments {
				if c := &x.Comments[i]; strconv.Itoa(c.ID) == q.PathValue("id") {
					c.Text = in.Text
					c.Edits++
					x.Rev++
					return http.StatusOK, adoComment(*c)
				}
			}
			return http.StatusNotFound, map[string]any{"message": "no such comment"}
		})
	})
	m.HandleFunc("POST /{o}/{p}/_apis/wit/wiql", func(w http.ResponseWriter, q *http.Request) {
		if _, token, _ := q.BasicAuth(); token != "token" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var in struct{ Query string }
		read(q, &in)
		most, _ := strconv.Atoi(q.URL.Query().Get("$top"))
		s.mu.Lock()
		list := []any{}
		for _, k := range slices.Sorted(maps.Keys(s.items)) {
			if id, _ := strconv.Atoi(k); wiqlFinds(in.Query, s.items[k]) && (most == 0 || len(list) < most) {
				list = append(list, map[string]any{"id": id, "url": "https://example.com/" + k})
			}
		}
		s.mu.Unlock()
		reply(w, http.StatusOK, map[string]any{"workItems": list})
	})
	m.HandleFunc("POST /{o}/{p}/_apis/wit/workitemsbatch", func(w http.ResponseWriter, q *http.Request) {
		var in struct {
			IDs    []int
			Fields []string
		}
		read(q, &in)
		s.mu.Lock()
		list := []any{}
		for _, id := range in.IDs {
			if x := s.items[strconv.Itoa(id)]; x != nil {
				item := adoItem(x, 0)
				maps.DeleteFunc(item["fields"].(map[string]any), func(name string, _ any) bool { return !slices.Contains(in.Fields, name) })
				delete(item, "relations")
				list = append(list, item)
			}
		}
		s.mu.Unlock()
		reply(w, http.StatusOK, map[string]any{"count": len(list), "value": list})
	})
}

// wiqlFinds knows so much of WIQL as the tests use.
func wiqlFinds(query string, x *Item) bool {
	tags, _ := x.Fields["System.Tags"].(string)
	for term := range strings.SplitSeq(query, " AND ") {
		if tag, is := strings.CutPrefix(term, "[System.Tags] CONTAINS "); is {
			tag, _, _ = strings.Cut(strings.TrimPrefix(tag, "'"), "'")
			if !strings.Contains(tags, tag) { // also a part of one
				return false
			}
		}
		if states, is := strings.CutPrefix(term, "[System.State] NOT IN "); is && strings.Contains(states, "'"+adoState(x)+"'") {
			return false
		}
	}
	return true
}

func adoState(x *Item) string {
	if state, _ := x.Fields["System.State"].(string); state != "" {
		return state
	}
	return x.State
}

func adoPerson(name string) map[string]any {
	return map[string]any{"displayName": name, "uniqueName": address(name), "id": "id-" + strings.ToLower(name), "url": "https://example.com"}
}

func adoItem(x *Item, comment int) map[string]any {
	id, _ := strconv.Atoi(x.Key)
	fields := maps.Clone(x.Fields)
	fields["System.Title"], fields["System.Description"], fields["System.State"] = x.Title, x.Body, adoState(x)
	fields["System.CreatedBy"], fields["System.ChangedDate"] = adoPerson(x.author()), x.updated().Format(time.RFC3339)
	out := map[string]any{"id": id, "rev": x.Rev, "fields": fields, "url": "https://example.com/" + x.Key}
	relations := []any{}
	for _, name := range x.Attached {
		relations = append(relations, map[string]any{"rel": "AttachedFile", "url": "https://example.com/attachments/" + name, "attributes": map[string]any{"name": name}})
	}
	out["relations"] = relations
	if comment > 0 {
		out["commentVersionRef"] = map[string]any{"commentId": comment, "version": 1, "url": "https://example.com"}
	}
	return out
}

func adoComment(c Comment) map[string]any {
	return map[string]any{"id": c.ID, "text": c.Text, "version": 1, "createdDate": c.At.UTC().Format(time.RFC3339), "createdBy": adoPerson(cmp.Or(c.Author, "Ben"))}
}
