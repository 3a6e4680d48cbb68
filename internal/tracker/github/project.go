package github

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/tracker"
)

// field is a field of a project.
type field struct {
	ID       int64
	Name     string
	DataType string `json:"data_type"`
	Options  []struct {
		ID   string
		Name struct{ Raw string }
	}
}

// ProjectField is how a field of Change.Fields is called that is one of a project: the
// project, as orgs/acme/7 or users/anna/7, and the field's name.
func ProjectField(project, name string) string { return project + "|" + name }

// setFields sets fields of projects. To set one twice changes nothing.
func (c *Client) setFields(ctx context.Context, ref tracker.Ref, fields map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		project, name, _ := strings.Cut(key, "|")
		if err := c.setField(ctx, ref, project, name, fields[key]); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) setField(ctx context.Context, ref tracker.Ref, project, name, value string) error {
	doing := fmt.Sprintf("set the field %s of %s in %s", name, ref, project)
	refused := func(format string, args ...any) error {
		return &tracker.Error{Service: ralph.GitHub, Doing: doing, Status: http.StatusUnprocessableEntity, Message: fmt.Sprintf(format, args...)}
	}
	root, err := projectPath(project)
	if err != nil {
		return refused("%v", err)
	}
	known, err := c.fieldsOf(ctx, doing, root)
	if err != nil {
		return err
	}
	f, ok := known[strings.ToLower(name)]
	if !ok {
		return refused("the project has no field %q", name)
	}
	v, err := f.value(value)
	if err != nil {
		return refused("%v", err)
	}
	owner, repo, number := ref.Repo()
	var item struct{ ID int64 }
	// An issue that is in the project already is answered with the item that it is there.
	if _, err := c.Do(ctx, doing, http.MethodPost, root+"/items", map[string]any{"type": "Issue", "owner": owner, "repo": repo, "number": number}, &item); err != nil {
		return err
	}
	_, err = c.Do(ctx, doing, http.MethodPatch, fmt.Sprintf("%s/items/%d", root, item.ID), map[string]any{"fields": []any{map[string]any{"id": f.ID, "value": v}}}, nil)
	return err
}

// projectPath is the address of a project: orgs/acme/7 is orgs/acme/projectsV2/7.
func projectPath(project string) (string, error) {
	p := strings.Split(project, "/")
	if len(p) != 3 || p[0] != "orgs" && p[0] != "users" {
		return "", fmt.Errorf("%q is no project: write orgs/acme/7 or users/anna/7", project)
	}
	if n, err := strconv.Atoi(p[2]); err != nil || n < 1 {
		return "", fmt.Errorf("%q is no project: its number is missing", project)
	}
	return p[0] + "/" + p[1] + "/projectsV2/" + p[2], nil
}

// fieldsOf reads the fields of a project once.
func (c *Client) fieldsOf(ctx context.Context, doing, root string) (map[string]field, error) {
	c.mu.Lock()
	known := c.projects[root]
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	fields, _, err := list[field](ctx, c, doing, root+"/fields?per_page=100")
	if err != nil {
		return nil, err
	}
	known = map[string]field{}
	for _, f := range fields {
		known[strings.ToLower(f.Name)] = f
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.projects[root] = known
	return known, nil
}

// value is the value as the API wants it: the id of an option, a number, or text; nil clears.
func (f field) value(text string) (any, error) {
	switch {
	case text == "":
		return nil, nil
	case f.DataType == "number":
		return strconv.ParseFloat(text, 64)
	case f.DataType != "single_select":
		return text, nil
	}
	var names []string
	for _, o := range f.Options {
		if strings.EqualFold(o.Name.Raw, text) {
			return o.ID, nil
		}
		names = append(names, o.Name.Raw)
	}
	return nil, fmt.Errorf("the field %s has no option %q, but %s", f.Name, text, strings.Join(names, ", "))
}
