package approval_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/approval"
	"github.com/ralph-loop/ralph/internal/lookup"
)

func ground() lookup.Disk {
	return lookup.Disk{Work: "/w", Home: "/home/me", Real: clean, Names: names}
}

// patterns are the thirteen of document C (C-031).
func patterns() []string {
	return []string{
		"deploy", "migrate", "publish", "push --force", "rm -rf", "drop table", "delete from", "npm publish",
		"terraform apply", "production", "api.*key", "secret", "password",
	}
}

// sevenNever is one command of each entry of the never list (C-034).
func sevenNever() map[string]string {
	return map[string]string{
		"push --force": "git push -f", "rm -rf /": "rm -fr /", "rm -rf ~": "rm -rf ~/", "drop database": "psql -c 'DROP DATABASE x'",
		"format c:": "format C:", "production deploy": "deploy --env production", "npm publish": "yarn npm publish",
	}
}

// C-034, C-035, C-036, X-77: no settings let the never list pass.
func TestClearNever(t *testing.T) {
	t.Parallel()
	all := slices.Concat(patterns(), []string{"git", "git push", "git push -f", "rm", "rm -fr /", "psql", "format", "deploy", "yarn", "npm publish", "$X", "/", "bash -c"})
	for entry, text := range sevenNever() {
		for _, form := range []string{text, "sudo " + text, "true && " + text, `bash -c "` + text + `"`} {
			for _, c := range []approval.Settings{
				{Approvals: "never"},
				{Approvals: "policy", Allow: all, PreApproved: all},
				{Approvals: "never", Allow: all, PreApproved: all, Patterns: patterns()},
				{Approvals: "ask"},
			} {
				got := judge(command(form), c, ground(), nil)
				if got.Verdict != "" || got.Gate != ralph.ApprovalOperation || !got.Never || !strings.Contains(got.Rule, entry) {
					t.Errorf("%q with %+v: got %+v, want a gate because of %q", form, c, got, entry)
				}
			}
		}
	}
	for _, text := range []string{"$X", "eval \"$X\"", "git push $F", "rm -rf $D", "curl -s x | sh"} { // it may be one of them
		got := judge(command(text), approval.Settings{Approvals: "never", PreApproved: all}, ground(), nil)
		if got.Verdict != "" || got.Gate != ralph.ApprovalOperation || !got.Never {
			t.Errorf("%q: got %+v, want a gate that nothing approves", text, got)
		}
	}
}

// C-030, C-031, C-032, C-042: each pattern holds, in every spelling; without it nothing does.
func TestClearPatterns(t *testing.T) {
	t.Parallel()
	held := map[string]string{
		"./deploy.sh staging": "deploy", "rails db:migrate": "migrate", "./publish.sh docs": "publish", "rm -rf ../build": "rm -rf",
		"psql -c 'DROP TABLE x'": "drop table", "mysql <<< 'DELETE FROM x'": "delete from", "terraform apply": "terraform apply", "./run.sh production": "production",
		"vault write api_secret_key": "api.*key", "gh secret set X": "secret", "PASSWORD=x ./run": "password",
		"rm -fr ../build": "rm -rf", "rm -r -f ../build": "rm -rf", "rm --recursive --force ../build": "rm -rf", "sudo rm -r -f ../build": "rm -rf",
		"psql -c 'drop /* x */  table y'": "drop table", "TERRAFORM APPLY": "terraform apply", "'terraform' \"apply\"": "terraform apply",
		"ls && terraform apply": "terraform apply", "bash -c 'terraform apply'": "terraform apply", "./run < secret.txt": "secret", "rm -rf /some/dir": "rm -rf",
	}
	for text, pattern := range held {
		for _, approvals := range []string{"never", "policy", "ask"} {
			got := judge(command(text), approval.Settings{Approvals: approvals, Patterns: patterns()}, ground(), nil)
			if got.Verdict != "" || got.Gate != ralph.ApprovalOperation || got.Never || got.Rule != "gate.patterns: "+pattern {
				t.Errorf("%q with %s: got %+v, want it held by %q", text, approvals, got, pattern)
			}
		}
		if got := judge(command(text), approval.Settings{Approvals: "never"}, ground(), nil); got.Verdict != ralph.Approved {
			t.Errorf("%q without patterns: got %+v", text, got)
		}
	}
	for _, text := range []string{"git commit -m 'rm -rf build'", "echo password", "grep -rn secret .", "ls # deploy", "git log --grep=publish"} {
		if got := judge(command(text), approval.Settings{Approvals: "never", Patterns: patterns()}, ground(), nil); got.Verdict != ralph.Approved {
			t.Errorf("%q is only text: got %+v", text, got)
		}
	}
	own := approval.Settings{Approvals: "never", Patterns: []string{`^kubectl\b.*delete`}} // C-033
	if got := judge(command("kubectl -n x delete pod y"), own, ground(), nil); got.Rule != `gate.patterns: ^kubectl\b.*delete` {
		t.Errorf("an own pattern: got %+v", got)
	}
	if got := judge(command("ls"), approval.Settings{Approvals: "never", Patterns: []string{"("}}, ground(), nil); got.Verdict != "" {
		t.Errorf("a pattern that cannot be compiled: got %+v, want everything held", got)
	}
}

// never list > gate patterns unless pre-approved > safe list > default; C-043: an
// absolute path can be pre-approved.
func TestClearPrecedence(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text     string
		c        approval.Settings
		approved bool
		rule     string
	}{
		{"rm -rf /some/dir", approval.Settings{Approvals: "policy"}, false, "gate.patterns: rm -rf"},
		{"rm -rf /some/dir", approval.Settings{Approvals: "policy", Allow: []string{"rm"}}, false, "gate.patterns: rm -rf"},
		{"rm -rf /some/dir", approval.Settings{Approvals: "policy", PreApproved: []string{"rm -rf"}}, true, "gate.pre_approved: rm -rf"},
		{"rm -rf /some/dir", approval.Settings{Approvals: "policy", PreApproved: []string{"rm -rf /some/dir"}}, true, "gate.pre_approved: rm -rf /some/dir"},
		{"rm -rf /some/dirt", approval.Settings{Approvals: "policy", PreApproved: []string{"rm -rf /some/dir"}}, false, "gate.patterns: rm -rf"},
		{"rm -fr x", approval.Settings{Approvals: "never", PreApproved: []string{"rm -rf"}}, true, "gate.approvals: never"},
		{"rm -rf /", approval.Settings{Approvals: "policy", PreApproved: []string{"rm -rf", "rm -rf /"}}, false, "the never list: rm -rf /"},
		{"rm -rf x; terraform apply", approval.Settings{Approvals: "policy", PreApproved: []string{"rm -rf"}}, false, "gate.patterns: terraform apply"},
		{"gh secret set X", approval.Settings{Approvals: "policy"}, false, "gate.patterns: secret"},
		{"cat secret", approval.Settings{Approvals: "policy", PreApproved: []string{"secret"}}, true, "gate.approvals: policy"},
		{"npm run deploy", approval.Settings{Approvals: "policy", PreApproved: []string{"npm run deploy"}}, true, "gate.pre_approved: npm run deploy"},
		{"npm run deploy", approval.Settings{Approvals: "ask", PreApproved: []string{"npm run deploy"}}, false, "gate.approvals: ask"},
		{"ls", approval.Settings{Approvals: "policy"}, true, "gate.approvals: policy"},
	} {
		tt.c.Patterns = patterns()
		got := judge(command(tt.text), tt.c, ground(), nil)
		if (got.Verdict == ralph.Approved) != tt.approved || got.Rule != tt.rule {
			t.Errorf("%q with %+v: got %+v", tt.text, tt.c, got)
		}
	}
}

// commands and calls of tools are operations; paths and contents are none.
func TestClearTools(t *testing.T) {
	t.Parallel()
	tool := func(name, input string) ralph.Request {
		return ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpTool, Tool: name, Detail: input}
	}
	for _, tt := range []struct {
		q    ralph.Request
		rule string
	}{
		{tool("mcp__npm__publish", `{}`), "the never list: npm publish"},
		{tool("mcp__shell__run", `{"command":"git push -f"}`), "the never list: push --force"},
		{tool("mcp__shell__run", `{"argv":["git","push","-f"]}`), "the never list: push --force"},
		{tool("mcp__db__query", `{"sql":"DROP DATABASE x"}`), "the never list: drop database"},
		{tool("mcp__git__push", `{"force":true,"remote":"origin"}`), "the never list: push --force"},
		{tool("mcp__cloud__deploy", `{"environment":"production"}`), "the never list: production deploy"},
		{tool("mcp__db__query", `{"sql":"drop table x"}`), "gate.patterns: drop table"},
		{tool("mcp__cloud__deploy", `{"environment":"staging"}`), "gate.patterns: deploy"},
		{tool("mcp__notes__write", `{"content":"rm -rf / and git push -f"}`), ""},
		{tool("mcp__docs__get", `not json`), ""},
		{files(ralph.OpEdit, "secret/password.go"), ""},
		{files(ralph.OpRead, "deploy/production.yml"), ""},
		{ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpEdit, Paths: []string{"a.sh"}, Detail: "+rm -rf /"}, ""},
	} {
		got := judge(tt.q, approval.Settings{Approvals: "never", Patterns: patterns()}, ground(), nil)
		if tt.rule == "" && got.Verdict != ralph.Approved || tt.rule != "" && (got.Rule != tt.rule || got.Verdict != "") {
			t.Errorf("%+v: got %+v, want %q", tt.q, got, tt.rule)
		}
	}
}

// C-035: what a person lists in vain is told.
func TestNeverApproved(t *testing.T) {
	t.Parallel()
	got := approval.NeverApproved([]string{"npm publish", "go test", "git push --force", "drop database", "production deploy", "format c:", "rm -rf /some/dir", "rm -rf ~", "secret"})
	if want := []string{"npm publish", "git push --force", "drop database", "production deploy", "format c:", "rm -rf ~"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func BenchmarkClear(b *testing.B) {
	c := approval.Settings{Approvals: "policy", Patterns: patterns()}
	for b.Loop() {
		judge(command("cd src && go test ./... -run 'TestX|TestY' 2>&1 | tail -40"), c, ground(), nil)
	}
}
