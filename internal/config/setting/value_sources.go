package setting

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// IssueSource is a query whose issues become specs.
type IssueSource struct {
	Service string        `yaml:"service"` // github, jira, ado
	Repo    string        `yaml:"repo"`    // owner/name; "": sync.github.repo
	Query   string        `yaml:"query"`
	Every   time.Duration `yaml:"every"`
	Allow   []string      `yaml:"allow"` // whose issues: team, anyone, names
}

// sourceList is the setting `inbox.sources`.
type sourceList struct{ p *[]IssueSource }

const sourcesWant = "a list of sources, such as [{service: github, query: 'label:ralph is:open', every: 5m}]"

func (v sourceList) SetNode(n *yaml.Node) error {
	if IsNull(n) {
		*v.p = nil
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		return Mismatch(sourcesWant, Describe(n))
	}
	var all []IssueSource
	for _, item := range n.Content {
		s, err := readSource(item)
		if err != nil {
			line := item.Line
			if at, ok := errors.AsType[LineError](err); ok {
				line = at.Line
			}
			return LineError{line, fmt.Errorf("has a source that %w", err)}
		}
		all = append(all, s)
	}
	*v.p = all
	return nil
}

func readSource(n *yaml.Node) (IssueSource, error) {
	s := IssueSource{Service: "github", Every: 5 * time.Minute, Allow: []string{"team"}}
	if n.Kind != yaml.MappingNode {
		return s, Mismatch("{service: github, query: , every: , allow: }", Describe(n))
	}
	for k, val := range Pairs(n) {
		var field Value
		switch k.Value {
		case "service":
			field = OneOf(&s.Service, "github", "jira", "ado")
		case "repo":
			field = Text(&s.Repo, CheckRepo)
		case "query":
			field = Text(&s.Query, CheckFilled)
		case "every":
			field = span{&s.Every, true}
		case "allow":
			field = list{p: &s.Allow}
		default:
			return s, LineError{k.Line, fmt.Errorf("has an unknown key %s; known are service, repo, query, every, allow", Quote(k.Value))}
		}
		if err := field.SetNode(val); err != nil {
			return s, LineError{val.Line, fmt.Errorf("is wrong: %s %w", k.Value, err)}
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

func (v sourceList) SetText(s string) error { return setYAML(v, s, sourcesWant) }

func (v sourceList) Plain() any {
	out := make([]map[string]any, 0, len(*v.p))
	for _, s := range *v.p {
		out = append(out, map[string]any{"service": s.Service, "repo": s.Repo, "query": s.Query, "every": s.Every.String(), "allow": s.Allow})
	}
	return out
}

func (v sourceList) Schema() Object {
	word := Object{"type": "string"}
	return Object{
		"type": []string{"array", "null"},
		"items": Object{
			"type": "object",
			"properties": Object{
				"service": Object{"type": "string", "enum": []string{"github", "jira", "ado"}}, "repo": word, "query": word, "every": Object{"type": []string{"string", "integer"}},
				"allow": Object{"type": "array", "items": word},
			},
			"required":             []string{"query"},
			"additionalProperties": false,
		},
	}
}
