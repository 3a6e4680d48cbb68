package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

const page = "../../docs/configuration.md"

// The template changes nothing, and neither does removing any of its marks.
func TestTemplate(t *testing.T) {
	t.Parallel()
	sameConfig(t, mustLoad(t, string(Template()), nil, nil), Defaults())

	plain := regexp.MustCompile(`(?m)^( *)# ([a-z_]+:)`).ReplaceAll(Template(), []byte("$1$2"))
	example := regexp.MustCompile(`(?m)^  mine:\n(  #   .*\n)+`)
	if !example.Match(plain) {
		t.Fatal("the example of an agent is gone")
	}
	c := mustLoad(t, string(example.ReplaceAll(plain, nil)), nil, nil)
	sameConfig(t, c, Defaults())
	if n := len(c.from); n < 20 {
		t.Errorf("only %d keys are in the template", n)
	}

	// The example itself is right.
	block := example.Find(plain)
	block = bytes.ReplaceAll(block, []byte("  #   "), []byte("    "))
	c = mustLoad(t, "agent: {primary: mine}\nagents:\n"+string(block), nil, nil)
	if a, _ := c.AgentSpec("mine"); a.Driver != "exec" || a.Prompt != "stdin" || len(a.Command) != 2 {
		t.Errorf("example: %+v", a)
	}

	Template()[0] = 'X'
	if Template()[0] == 'X' {
		t.Error("a caller can change the template")
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	data, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("config.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	check := func(file string) error {
		var v any
		if err := yaml.Unmarshal([]byte(file), &v); err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if v, err = jsonschema.UnmarshalJSON(bytes.NewReader(asJSON)); err != nil {
			t.Fatal(err)
		}
		return schema.Validate(v)
	}
	design, err := os.ReadFile("testdata/design.yaml")
	if err != nil {
		t.Fatal(err)
	}
	good := []string{
		string(design), string(template), "agents: {x: {driver: exec, command: [a, 1], env: {A: 1}}}",
		"budget: {time: 0}", "prices: {m: {input: 1}}", "task: {timeout: 1h30m}", "quality: {max_output: 1MiB}",
	}
	bad := []string{
		"paralel: 1", "parallel: two", "parallel: 1001", "mode: x", "task: {timeout: 30}", "task: {timeout: long}",
		"agents: {X: {driver: exec}}", "agents: {x: {driver: magic}}", "prices: {m: {in: 1}}", "budget: {cost: -1}",
		"quality: {max_output: lots}", "quality: {commands: make}", "version: 2", "merge: {auto: 'yes'}",
	}
	for _, file := range good {
		if err := check(file); err != nil {
			t.Errorf("schema refuses\n%s\n%v", file, err)
		}
		mustLoad(t, file, nil, nil)
	}
	for _, file := range bad {
		if check(file) == nil {
			t.Errorf("schema accepts %s", file)
		}
		if _, err := load([]byte(file), "f", nil, nil); err == nil {
			t.Errorf("Load accepts %s", file)
		}
	}
	for _, part := range []string{`"description": "the program and its first arguments"`, `"default": "30m"`, `"default": "64KiB"`} {
		if !bytes.Contains(data, []byte(part)) {
			t.Errorf("schema lacks %s", part)
		}
	}
}

// The page of documentation has the table of all keys as they are; run with
// RALPH_UPDATE=1 to write it anew. X-05: it maps the names of A and B.
func TestPage(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- keys: written by the tests of internal/config -->\n", "<!-- end of keys -->\n"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(data), begin)
	table, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has lost its marks", page)
	}
	want := keyTable()
	if os.Getenv("RALPH_UPDATE") != "" {
		if err := os.WriteFile(page, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("%s is out of date; run RALPH_UPDATE=1 go test ./internal/config (-want +got):\n%s", page, diff)
	}
	rows := regexp.MustCompile("(?m)^\\| `([a-zA-Z]+)` \\| `([a-z_.]+)` \\|").FindAllStringSubmatch(tail, -1)
	if len(rows) < 15 {
		t.Errorf("only %d names of the documents are mapped", len(rows))
	}
	for _, row := range rows {
		if got := ourName(squeeze(row[1])); got != row[2] {
			t.Errorf("the page maps %s to %s, errors name %q", row[1], row[2], got)
		}
	}
}

func keyTable() string {
	var b strings.Builder
	b.WriteString("| key | default | meaning |\n| --- | --- | --- |\n")
	c := Defaults()
	for _, k := range c.keys() {
		path, value := k.path, "`"+yamlText(k.v.Plain())+"`"
		if strings.HasPrefix(path, "agents.") {
			if !strings.HasPrefix(path, "agents.claude.") {
				continue
			}
			path, value = "agents.<name>."+leaf(path), "by agent"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", path, value, strings.ReplaceAll(k.doc, "|", "\\|"))
	}
	return b.String()
}
