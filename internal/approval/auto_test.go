package approval_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/approval"
	"github.com/ralph-loop/ralph/internal/lookup"
)

// bounded are the settings of a session whose agents are in a sandbox.
func bounded() approval.Settings {
	return approval.Settings{
		Approvals: "auto", Sandbox: "landlock", Write: []string{"/tmp", "/home/me/.cache"}, Patterns: patterns(),
		Commands: []string{"go vet ./...", "go test ./..."},
	}
}

// Issue 15, point 4: under auto nobody is asked about what the sandbox bounds, and about
// what leaves it a person is. Without a sandbox it is as if it were ask.
func TestClearAuto(t *testing.T) {
	t.Parallel()
	tool := func(name string) ralph.Request {
		return ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpTool, Tool: name}
	}
	elsewhere := files(ralph.OpEdit, "x")
	elsewhere.Dir = "/etc"
	for _, tt := range []struct {
		name   string
		q      ralph.Request
		passes bool
		why    string // a part of the rule
	}{
		{"a command", command("go test ./... && npm ci"), true, "gate.approvals: auto, in the sandbox (landlock)"},
		{"any command", command("for i in 1 2; do ./build.sh $i > out/$i & done; wait"), true, "auto"},
		{"a command elsewhere", ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand, Command: "ls", Dir: "/etc"}, true, "auto"},
		{"a write outside: the sandbox refuses it", command("echo x > /etc/motd"), true, "auto"},
		{"the network", command("curl -fsS https://example.com/x -o x"), true, "auto"},
		{"no command", ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand}, false, ""},
		{"a file", files(ralph.OpEdit, "a.go", "/w/b.go"), true, "auto"},
		{"a temporary file", files(ralph.OpEdit, "/tmp/notes"), true, "auto"},
		{"a cache", files(ralph.OpEdit, "/home/me/.cache/x/y"), true, "auto"},
		{"a file outside", files(ralph.OpEdit, "/etc/motd"), false, "/etc/motd is outside the work tree, and the sandbox refuses it whatever is said here; sandbox.extra_write opens a folder"},
		{"a file beside", files(ralph.OpEdit, "a.go", "/w2/a"), false, "sandbox refuses"},
		{"a file of another folder", elsewhere, false, "sandbox refuses"},
		{"a link out", files(ralph.OpEdit, "out/passwd"), false, "sandbox refuses"},
		{"git's own", files(ralph.OpEdit, ".git/config"), false, ".git/config is not for agents to change"},
		{"what other programs run", files(ralph.OpEdit, ".claude/settings.json"), false, "not for agents"},
		{"ralph's settings", files(ralph.OpEdit, "ralph/config.yaml"), false, "not for agents"},
		{"files of no name", files(ralph.OpEdit), false, ""},
		{"reading elsewhere", files(ralph.OpRead, "/usr/include/stdio.h"), true, "auto"},
		{"more rights", ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpPermissions}, false, "more rights"},
		{"what nobody knows", ralph.Request{Kind: ralph.RequestApproval}, false, ""},
		{"a server's tool", tool("mcp__db__query"), false, "nobody knows what mcp__db__query does"},
		{"the agent's network", tool("WebFetch"), true, "auto"},
		{"a question", ralph.Request{Kind: ralph.RequestQuestion, Text: "?"}, false, "a question"},
		{"the never list", command("git push --force"), false, "the never list: push --force"},
		{"a pattern", command("terraform apply"), false, "gate.patterns: terraform apply"},
		{"a deployment", command("npm run deploy"), false, "gate.patterns: deploy"},
	} {
		g := lookup.Disk{Work: "/w", Home: "/home/me", Real: links, Names: names}
		w := judge(tt.q, bounded(), g, nil)
		if (w.Verdict == ralph.Approved) != tt.passes || !strings.Contains(w.Rule, tt.why) || !tt.passes && w.Gate == "" {
			t.Errorf("%s: %+v, want it to pass: %t, by %q", tt.name, w, tt.passes, tt.why)
		}
		c := bounded()
		c.Sandbox = ""
		if w := judge(tt.q, c, g, nil); w.Answered() {
			t.Errorf("%s, without a sandbox: %+v", tt.name, w)
		}
	}
	c := bounded()
	c.Allow = []string{"mcp__db__query", "/opt/out"}
	for _, q := range []ralph.Request{tool("mcp__db__query"), files(ralph.OpEdit, "/opt/out/x")} {
		if w := judge(q, c, ground(), nil); w.Verdict != ralph.Approved || !strings.HasPrefix(w.Rule, "gate.allow: ") {
			t.Errorf("allowed %v %v: %+v", q.Tool, q.Paths, w)
		}
	}
}

// R-H6: commands that people develop with, of eight kinds of work. Under auto none is held,
// and under never neither, though gate.patterns has its usual words.
func TestOrdinaryWork(t *testing.T) {
	t.Parallel()
	for kind, lines := range map[string][]string{
		"go":         {"go test ./...", "go test -run TestSecret ./...", "go build -o bin/deploy ./cmd/deploy", "go vet ./internal/secret/...", "GOFLAGS=-mod=mod go mod tidy", "go test -run 'TestPassword|TestPublish' ./auth", "gofmt -w ./password.go"},
		"npm":        {"npm ci", "rm -rf node_modules", "rm -rf node_modules dist && npm install", "NODE_ENV=production npm run build", "npm test -- password.test.js", "npx jest secret", "npx eslint src/publish.ts --fix", "npm run build -- --mode production", "npx vite build --mode production"},
		"cargo":      {"cargo test secret_", "cargo build --release", "cargo clippy -- -D warnings", "rm -rf target", "cargo add password-hash", "cargo fmt"},
		"pytest":     {"python -m pytest -k 'password or secret'", "pytest tests/test_deploy.py::test_publish", "pip install -e .", "rm -rf build .pytest_cache", "ruff check migrate/", "python3 -m pytest -q"},
		"CI scripts": {"make build test", "make -j4 all", "sh scripts/ci.sh", "shellcheck ci/*.sh", "cmake --build build", "docker build -t app:production .", "tar czf dist/secret.tgz dist", "jq .password a.json"},
		"git":        {"git add -A", "git commit -m 'Add password reset'", "git checkout -b deploy/x", "git log --oneline production..HEAD", "git stash", "git diff -- src/secret", "git merge deploy-fixes", "git grep password"},
		"files":      {"ls deploy 2>/dev/null; true", "mkdir -p migrations/secret", "cp deploy/a.yml deploy/b.yml", "cat config/production.yml", "mv publish.go publisher.go", "grep -rn api_key src", "sed -i s/secret/token/ a.txt", "touch password.txt", "find . -name '*secret*'"},
		"databases":  {"sqlite3 test.db .schema", "go run ./cmd/seed", "python manage.py test"},
	} {
		for _, line := range lines {
			for _, c := range []approval.Settings{bounded(), {Approvals: "never", Patterns: patterns()}} {
				if w := judge(command(line), c, ground(), nil); w.Verdict != ralph.Approved {
					t.Errorf("%s, %s: %q is held: %s", c.Approvals, kind, line, w.Rule)
				}
			}
		}
	}
}

// What the patterns are for is held all the same, in each way of answering.
func TestPatternsHoldOperations(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"npm run deploy", "npm run deploy:production", "npm publish", "yarn deploy", "make deploy", "make build deploy", "just publish", "cargo publish",
		"./deploy.sh", "bash scripts/deploy.sh", "kubectl create secret generic x", "gh secret set X", "rails db:migrate", "npx prisma migrate deploy", "python manage.py migrate",
		"terraform apply", "go run ./cmd/deploy", "git push origin production", "ansible-playbook -i production site.yml", "poetry publish", "npx semantic-release publish",
		"rm -rf /opt/app", "cd / && rm -rf opt", "rm -rf build && rm -rf ../other",
	} {
		for _, approvals := range []string{"auto", "never", "policy"} {
			c := bounded()
			if c.Approvals = approvals; approvals == "auto" && strings.Contains(line, "rm -rf") {
				continue // the sandbox bounds it
			}
			if w := judge(command(line), c, ground(), nil); w.Answered() || w.Gate != ralph.ApprovalOperation {
				t.Errorf("%q passes under %s: %+v", line, approvals, w)
			}
		}
	}
	// A pattern of the person's own finds what it says, in arguments too.
	c := bounded()
	c.Patterns = []string{"staging"}
	if w := judge(command("ls staging"), c, ground(), nil); w.Answered() {
		t.Errorf("a pattern of the person's own: %+v", w)
	}
}

// R-H6: the checks that ralph runs itself, and narrower calls of them, pass under policy;
// what else the same program can do does not.
func TestNarrowerChecks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		check  string
		passes []string
		holds  []string
	}{
		{
			"go test ./...",
			[]string{"go test ./...", "go test ./pkg -run X", "go test -race -count=1 ./internal/a ./internal/b", "go test -run 'TestSecret$' .", "cd src && go test .", "go test ./... | tail -20", "go test ./... 2>&1 | head"},
			[]string{"go run .", "go test -exec ./x ./...", "go test -toolexec=./x ./...", "go test -o /usr/bin/x .", "go test -C /x ./...", "go test ../other", "go test ./... > /etc/x", "go test ./... && curl x", "PATH=. go test ./...", "go test $(x)", "go generate ./...", "sudo go test ./...", "cd /x && go test ./..."},
		},
		{
			"npm test",
			[]string{"npm test", "npm test -- a.test.js", "npm test -- --watch=false -t 'adds two'", "CI=1 npm test"},
			[]string{"npm install", "npm run test2", "npm test --prefix /x", "npm test --script-shell=./x", "npm publish", "npx jest"},
		},
		{
			"npm run lint",
			[]string{"npm run lint", "npm run lint -- --fix src"},
			[]string{"npm run build", "npm run", "npm run lint --prefix ../x", "npm run lint2"},
		},
		{
			"make test",
			[]string{"make test", "make test V=1", "make test -k"},
			[]string{"make", "make deploy", "make test deploy", "make test SHELL=./x", "make -f /x test", "make test -C /x", "make test -f x.mk"},
		},
		{
			"pytest -q",
			[]string{"pytest -q", "pytest tests/test_a.py -k 'x and y'", "pytest --lf"},
			[]string{"python -m pytest", "pytest ../x", "pytest -c /etc/x", "pip install x"},
		},
		{
			"cargo test",
			[]string{"cargo test", "cargo test -p core parse -- --nocapture"},
			[]string{"cargo run", "cargo test --manifest-path=../x/Cargo.toml", "cargo test --config x", "cargo publish"},
		},
		{
			"sh test.sh && node --test",
			[]string{"sh test.sh", "sh test.sh one", "node --test a.test.js"},
			[]string{"sh other.sh", "node a.js", "sh -c x", "sh test.sh /etc/passwd"},
		},
	} {
		c := approval.Settings{Approvals: "policy", Commands: []string{tt.check}, Patterns: patterns()}
		g := lookup.Disk{Work: "/w", Home: "/home/me", Real: links, Names: names}
		for _, line := range tt.passes {
			if w := judge(command(line), c, g, nil); w.Verdict != ralph.Approved || !strings.Contains(w.Rule, "a check of the project: "+tt.check) {
				t.Errorf("the check %q: %q is held: %+v", tt.check, line, w)
			}
		}
		for _, line := range tt.holds {
			if w := judge(command(line), c, g, nil); w.Answered() {
				t.Errorf("the check %q: %q passes: %+v", tt.check, line, w)
			}
		}
		if w := judge(command(tt.check), approval.Settings{Approvals: "ask", Commands: []string{tt.check}}, g, nil); w.Answered() {
			t.Errorf("%q passes under ask: %+v", tt.check, w)
		}
	}
	if approval.Narrower("go test ./... $X", []string{"go", "test", "."}) || !slices.ContainsFunc([]string{"go test ./..."}, func(c string) bool { return approval.Narrower(c, []string{"go", "test", "."}) }) {
		t.Error("a check with a variable is known")
	}
}
