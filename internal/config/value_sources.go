package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// sourceList is the setting `inbox.sources`.
type sourceList struct{ p *[]IssueSource }

const sourcesWant = "a list of sources, such as [{service: github, query: 'label:ralph is:open', every: 5m}]"

func (v sourceList) setNode(n *yaml.Node) error {
	if isNull(n) {
		*v.p = nil
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		return must(sourcesWant, describe(n))
	}
	var all []IssueSource
	for _, item := range n.Content {
		s, err := readSource(item)
		if err != nil {
			line := item.Line
			if at, ok := errors.AsType[lineError](err); ok {
				line = at.line
			}
			return lineError{line, fmt.Errorf("has a source that %w", err)}
		}
		all = append(all, s)
	}
	*v.p = all
	return nil
}

func readSource(n *yaml.Node) (IssueSource, error) {
	s := IssueSource{Service: "github", Every: 5 * time.Minute, Allow: []string{"team"}}
	if n.Kind != yaml.MappingNode {
		return s, must("{service: github, query: , every: , allow: }", describe(n))
	}
	for k, val := range pairs(n) {
		var field value
		switch k.Value {
		case "service":
			field = oneOf(&s.Service, "github", "jira", "ado")
		case "repo":
			field = plainText(&s.Repo, checkRepo)
		case "query":
			field = plainText(&s.Query, checkFilled)
		case "every":
			field = span{&s.Every, true}
		case "allow":
			field = list{p: &s.Allow}
		default:
			return s, lineError{k.Line, fmt.Errorf("has an unknown key %s; known are service, repo, query, every, allow", show(k.Value))}
		}
		if err := field.setNode(val); err != nil {
			return s, lineError{val.Line, fmt.Errorf("is wrong: %s %w", k.Value, err)}
		}
	}
	if strings.TrimSpace(s.Query) == "" {
		return s, errors.New("has no query")
	}
	if s.Service != "github" && s.Repo != "" {
		return s, fmt.Errorf("has a repo, which %s knows nothing of: name the project in the query", s.Service)
	}
	return s, nil
}

func (v sourceList) setText(s string) error { return setYAML(v, s, sourcesWant) }

func (v sourceList) plain() any {
	out := make([]map[string]any, 0, len(*v.p))
	for _, s := range *v.p {
		out = append(out, map[string]any{"service": s.Service, "repo": s.Repo, "query": s.Query, "every": s.Every.String(), "allow": s.Allow})
	}
	return out
}

func (v sourceList) schema() object {
	word := object{"type": "string"}
	return object{
		"type": []string{"array", "null"},
		"items": object{
			"type": "object",
			"properties": object{
				"service": object{"type": "string", "enum": []string{"github", "jira", "ado"}}, "repo": word, "query": word, "every": object{"type": []string{"string", "integer"}},
				"allow": object{"type": "array", "items": word},
			},
			"required":             []string{"query"},
			"additionalProperties": false,
		},
	}
}
