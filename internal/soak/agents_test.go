//go:build linux && soak

package soak

import (
	"slices"
	"strings"
	"testing"
)

const complete = "echo '<ralph>COMPLETE</ralph>'\n"

// misbehaviour is what an agent does in a build turn, and what has to come of it.
type misbehaviour struct {
	name   string
	build  string // sh
	task   string // settings below task:
	text   string // of the spec
	code   int    // of ralph agent
	spec   string // status of the spec afterwards
	status string // of its task
	stderr string // what it has to say there
	check  func(t *testing.T, r *repo, res result)
}

// An agent may do what it likes: the outcome is a clear one, its processes are
// gone, and nothing is lost.
func TestAgentsThatMisbehave(t *testing.T) {
	t.Parallel()
	for _, m := range misbehaviours() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, setup{build: m.build, task: m.task, specs: []string{"only"}, text: m.text})
			res := r.start("agent").wait(patience)
			if res.code != m.code || !strings.Contains(res.errs, m.stderr) {
				t.Errorf("want exit code %d and %q on stderr: %s", m.code, m.stderr, res)
			}
			for id, status := range r.inbox() {
				if status != m.spec {
					t.Errorf("spec %s is %s, want %s", id, status, m.spec)
				}
			}
			if status := r.tasks()["one"]; status != m.status {
				t.Errorf("the task is %s, want %s", status, m.status)
			}
			r.checkGone(r.pids())
			r.checkReplay()
			if m.check != nil {
				m.check(t, r, res)
			}
			if t.Failed() {
				t.Logf("%s\n%s\n%s", res, r.ralph("log").out, r.git("log", "--all", "--graph", "--stat", "--format=%h %s %d"))
			}
		})
	}
}

func misbehaviours() []misbehaviour {
	return slices.Concat(processes(), outputs(), gitters())
}

// processes misbehave as processes do.
func processes() []misbehaviour {
	return []misbehaviour{
		{
			name: "hangs past its timeout (B-029)", build: "sleep 60 & note $!\nwait\n", task: "  timeout: 8s",
			code: 1, spec: "failed", status: "timeout",
		},
		{
			name: "hangs and ignores SIGTERM (B-029)", build: "trap '' TERM INT HUP\nwhile :; do sleep 1; done\n", task: "  timeout: 8s",
			code: 1, spec: "failed", status: "timeout",
		},
		{
			name: "leaves children behind, also in a session of their own",
			build: "sleep 60 & note $!\nsetsid sh -c 'echo $$ > $SOAK/daemon; trap \"\" TERM; while :; do sleep 1; done' > /dev/null 2>&1 &\n" +
				"while ! test -s $SOAK/daemon; do :; done\nnote $(cat $SOAK/daemon)\n" + buildWell,
			spec: "done", status: "done",
		},
		{
			name:  "closes its output early and goes on working",
			build: complete + "exec > /dev/null 2>&1 >&- 2>&-\nsleep 0.3\nmkdir -p work\necho late > work/late\n",
			spec:  "done", status: "done",
			check: func(t *testing.T, r *repo, _ result) {
				if r.git("show", "HEAD:work/late") != "late" {
					t.Error("the work after the end of the output is not in the commit")
				}
			},
		},
		{
			// As large as a spec may be, and far more than a pipe holds.
			name: "does not read its prompt", text: strings.Repeat("More to read.\n", 70_000),
			build: "mkdir work\necho x > work/x\n" + complete, spec: "done", status: "done",
		},
		{
			name: "kills itself every time (B-075, X-44)", build: "kill -9 $$\n", code: 1, spec: "failed", status: "failed",
			check: func(t *testing.T, r *repo, _ result) {
				if n := len(r.find("turn.ended")); n != 1+3 {
					t.Errorf("%d turns, want the plan and 3 tries (errors.max_retries 2)", n)
				}
			},
		},
		{
			name:  "kills itself once (B-068)",
			build: "if ! test -e $SOAK/once; then touch $SOAK/once; kill -9 $$; fi\n" + buildWell, spec: "done", status: "done",
		},
		{
			name:  "starts 200 children at once",
			build: "i=0; while test $i -lt 200; do i=$((i+1)); (sleep 0.$((i % 10)); echo $i > /dev/null) & done\nwait\n" + buildWell,
			spec:  "done", status: "done",
		},
	}
}

// outputs misbehave in what they print.
func outputs() []misbehaviour {
	return []misbehaviour{
		{
			name: "prints what is not UTF-8", build: "printf '\\377\\376\\200\\n\\000\\033[2J\\n'\n" + buildWell, spec: "done", status: "done",
		},
		{
			name: "ends its signal without a newline", build: "mkdir work\necho x > work/x\nprintf '<ralph>COMPLETE</ralph>'\n", spec: "done", status: "done",
		},
	}
}

// gitters use git, or damage it.
func gitters() []misbehaviour {
	return []misbehaviour{
		{
			name: "commits by itself (X-58)", build: "mkdir work\necho x > work/x\ngit add -A\ngit commit -q -m mine\n" + complete,
			spec: "done", status: "done",
			check: func(t *testing.T, r *repo, _ result) {
				r.onlyCommit(t, "ralph: complete only")
				if r.git("show", "HEAD:work/x") != "x" {
					t.Error("the agent's work is not in the commit")
				}
			},
		},
		{
			name: "stashes its work", build: "echo x >> README.md\ngit stash -q\nmkdir -p work; echo y > work/y\n" + complete,
			spec: "done", status: "done",
			check: func(t *testing.T, r *repo, _ result) {
				if n := len(strings.Split(r.git("stash", "list"), "\n")); n != 1 {
					t.Errorf("%d stashes, want the agent's own", n)
				}
				r.onlyCommit(t, "ralph: complete only")
			},
		},
		{
			name: "changes to a branch of its own", build: "git checkout -q -b other\nmkdir work\necho x > work/x\ngit add -A\ngit commit -q -m mine\n" + complete,
			spec: "done", status: "done",
			check: func(t *testing.T, r *repo, _ result) {
				if b := r.git("symbolic-ref", "--short", "HEAD"); b != "main" {
					t.Errorf("HEAD is on %s, want main, where the work began", b)
				}
				r.onlyCommit(t, "ralph: complete only")
				if r.git("show", "HEAD:work/x") != "x" {
					t.Error("the agent's work is not in the commit")
				}
			},
		},
		{
			name: "resets to before the work began", build: "git reset -q --hard HEAD~1\nmkdir work\necho x > work/x\n" + complete,
			code: 1, spec: "failed", status: "done",
			check: func(t *testing.T, r *repo, _ result) {
				if r.git("log", "-1", "--format=%s") != "queue" {
					t.Error("HEAD is not where the work began")
				}
				if all := r.git("log", "--all", "-g", "--format=%H", "refs/stash"); all == "" {
					t.Error("the agent's work is not in a stash")
				}
			},
		},
		{
			name: "leaves git's index locked", build: "touch .git/index.lock\n" + buildWell, spec: "done", status: "done",
		},
		{
			name: "deletes git's index", build: "rm .git/index\n" + buildWell, spec: "done", status: "done",
			check: func(t *testing.T, r *repo, _ result) { r.onlyCommit(t, "ralph: complete only") },
		},
		{
			name: "deletes every file but ralph's", build: "/bin/rm -rf $(ls -A | grep -v -e '^.git$' -e '^ralph$')\n" + complete,
			task: "  max_iterations: 2", code: 1, spec: "failed", status: "timeout",
			check: func(t *testing.T, r *repo, _ result) {
				if !exists(r.path("README.md")) || r.dirty() != "" {
					t.Error("the work tree was not restored")
				}
			},
		},
		{
			name: "deletes inbox and plan", build: "rm ralph/inbox.jsonl ralph/plan.jsonl\n" + buildWell,
			spec: "done", status: "done",
			check: func(t *testing.T, r *repo, _ result) {
				if !exists(r.path("ralph/inbox.jsonl")) || !exists(r.path("ralph/plan.jsonl")) {
					t.Error("inbox or plan is gone")
				}
			},
		},
	}
}

func (r *repo) onlyCommit(t *testing.T, subject string) {
	t.Helper()
	if log := r.git("log", "--format=%s", ":/^queue..HEAD"); log != subject {
		t.Errorf("commits since the start: %q, want %q", log, subject)
	}
}
