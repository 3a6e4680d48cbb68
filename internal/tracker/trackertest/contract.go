// Package trackertest has servers that stand for trackers in tests: stateful, each behind the
// official document of its service. What a client sends and what the fake answers must both be
// valid by it, so that neither drifts from the service. A script of failures comes in front.
//
// It does NOT own what clients do with an answer (tracker and the packages below it).
package trackertest

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// The documents, cut to the operations that are used. Their licences lie beside them.
//
//go:embed testdata/contracts/*.json
var documents embed.FS

// contract is the official document of a service.
type contract struct {
	doc    *openapi3.T
	router routers.Router
}

// Each document is read once.
var (
	ofGitHub = sync.OnceValues(func() (*contract, error) { return load("github", patchGitHub) })
	ofJira   = sync.OnceValues(func() (*contract, error) { return load("jira", patchJira) })
	ofADO    = sync.OnceValues(func() (*contract, error) { return load("ado", patchADO) })
)

// load reads a document; patch mends where it is known to be wrong.
func load(name string, patch func(map[string]any)) (*contract, error) {
	data, err := documents.ReadFile("testdata/contracts/" + name + ".json")
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	if patch != nil {
		patch(tree)
	}
	if data, err = json.Marshal(tree); err != nil {
		return nil, fmt.Errorf("patch the document: %w", err)
	}
	c := &contract{}
	if tree["swagger"] == "2.0" {
		var old openapi2.T
		if err := json.Unmarshal(data, &old); err != nil {
			return nil, fmt.Errorf("read the document: %w", err)
		}
		c.doc, err = openapi2conv.ToV3(&old)
	} else {
		c.doc, err = openapi3.NewLoader().LoadFromData(data)
	}
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	c.doc.Servers = nil // any host
	c.router, err = gorillamux.NewRouter(c.doc)
	return c, err
}

// walk visits every object of a document.
func walk(tree any, visit func(map[string]any)) {
	switch x := tree.(type) {
	case map[string]any:
		visit(x)
		for _, v := range x {
			walk(v, visit)
		}
	case []any:
		for _, v := range x {
			walk(v, visit)
		}
	}
}

// serve answers a request with the fake, and reports what is not as the document has it.
func (c *contract) serve(w http.ResponseWriter, q *http.Request, fake http.Handler, report func(where, what string)) {
	body, _ := io.ReadAll(q.Body)
	again := func() { q.Body = io.NopCloser(bytes.NewReader(body)) }
	again()
	at := q.Method + " " + q.URL.RequestURI()
	route, params, err := c.router.FindRoute(q)
	if err != nil {
		report(at, "no such operation in the official document: "+err.Error())
		http.NotFound(w, q)
		return
	}
	opt := &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true, MultiError: true}
	in := &openapi3filter.RequestValidationInput{Request: q, PathParams: params, Route: route, Options: opt}
	if err := openapi3filter.ValidateRequest(context.Background(), in); err != nil {
		report(at+" request", err.Error())
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	}
	again()
	rec := httptest.NewRecorder()
	fake.ServeHTTP(rec, q)
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: rec.Code, Header: rec.Header(), Options: opt}
	out.SetBodyBytes(rec.Body.Bytes())
	// Of their refusals documents have few.
	if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil && rec.Code < http.StatusBadRequest {
		report(fmt.Sprint(at, " answer ", rec.Code), err.Error())
	}
	for k, v := range rec.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes())
}

// example is an example of the document's own components, as a copy to be changed.
func (c *contract) example(name string) map[string]any {
	x := c.doc.Components.Examples[name]
	if x == nil || x.Value == nil {
		panic("no example " + name)
	}
	b, err := json.Marshal(x.Value.Value)
	if err != nil {
		panic(err)
	}
	var out any
	if err := json.Unmarshal(b, &out); err != nil {
		panic(err)
	}
	if list, is := out.([]any); is {
		out = list[0]
	}
	return out.(map[string]any)
}

// GitHub puts a fake of GitHub that lives elsewhere behind the official document. Its answers may
// leave out what nobody reads: fill, called for each object of a kind, has the rest of it.
func GitHub(fake func(fill func(kind string, object map[string]any) map[string]any) http.Handler, report func(where, what string)) (http.Handler, error) {
	c, err := ofGitHub()
	if err != nil {
		return nil, err
	}
	fill := func(kind string, object map[string]any) map[string]any {
		full := c.example(kind)
		merge(full, object)
		return full
	}
	h := fake(fill)
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { c.serve(w, q, h, report) }), nil
}

// merge puts the values of an object over those of another one.
func merge(over, object map[string]any) {
	for k, v := range object {
		inner, is := v.(map[string]any)
		below, has := over[k].(map[string]any)
		if is && has {
			merge(below, inner)
			continue
		}
		list, is := v.([]map[string]any)
		first, has := one(over[k])
		if is && has {
			filled := make([]any, len(list))
			for i, o := range list {
				full := deepCopy(first)
				merge(full, o)
				filled[i] = full
			}
			v = filled
		}
		over[k] = v
	}
}

// one is the first object of a list.
func one(v any) (map[string]any, bool) {
	list, _ := v.([]any)
	if len(list) == 0 {
		return nil, false
	}
	first, is := list[0].(map[string]any)
	return first, is
}

func deepCopy(o map[string]any) map[string]any {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	var out map[string]any
	if err := json.Unmarshal(b, &out); err != nil {
		panic(err)
	}
	return out
}

// patchGitHub mends examples: their teams lack the type that its schema wants, and repositories the
// language.
func patchGitHub(tree map[string]any) {
	walk(tree, func(o map[string]any) {
		if _, is := o["requested_teams"].([]any); is {
			o["requested_teams"] = []any{}
		}
		if _, is := o["full_name"].(string); is && o["language"] == nil {
			o["language"] = "Go"
		}
	})
}
