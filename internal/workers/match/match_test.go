package match

import "testing"

// What no worker has is said with the command that starts one.
func TestMissing(t *testing.T) {
	t.Parallel()
	list := []Worker{
		{Name: "a", Agents: []string{"claude"}, Labels: []string{"arch=amd64", "gpu", "os=linux"}},
		{Name: "b", Agents: []string{"codex"}, Labels: []string{"arch=arm64", "os=linux"}},
		{Name: "old", Agents: []string{"gemini"}, Wrong: []string{"is another version"}},
	}
	for _, tt := range []struct {
		name  string
		needs Needs
		list  []Worker
		want  string
	}{
		{"nothing is asked for", Needs{}, list, ""},
		{"one has all", Needs{Agent: "claude", Labels: []string{"gpu", "os=linux"}}, list, ""},
		{"a label", Needs{Agent: "claude", Labels: []string{"cuda=12"}, Repo: "hub"}, list, "no worker has the label cuda=12; start one that has: ralph worker --repo hub --agent claude --label cuda=12"},
		{"labels", Needs{Labels: []string{"a", "b"}}, list, "no worker has the labels a, b; start one that has: ralph worker --repo ADDRESS --label a --label b"},
		{"a system", Needs{Labels: []string{"os=windows"}}, list, "no worker has the label os=windows; start one that has: ralph worker --repo ADDRESS (on a machine with os windows)"},
		{"an agent", Needs{Agent: "aider"}, list, "no worker has the agent aider; start one that has: ralph worker --repo ADDRESS --agent aider"},
		{"an agent of another version alone", Needs{Agent: "gemini"}, list, "no worker has the agent gemini; start one that has: ralph worker --repo ADDRESS --agent gemini"},
		{"none has both", Needs{Agent: "codex", Labels: []string{"gpu"}}, list, "no single worker has the agent codex and the label gpu; start one that has: ralph worker --repo ADDRESS --agent codex --label gpu"},
		{"nobody", Needs{Agent: "codex"}, nil, "there is no worker; start one that has: ralph worker --repo ADDRESS --agent codex"},
		{"only of another version", Needs{}, list[2:], "no worker is of this version and key (`ralph fleet workers`); start one that has: ralph worker --repo ADDRESS"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.needs.Missing(tt.list); got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
		})
	}
}
