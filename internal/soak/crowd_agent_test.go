//go:build linux && soak

package soak

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// wild is an agent of the crowd. What its task needs stands in $SOAK/kinds/<task>;
// what befalls its nth turn in line n of $SOAK/fates/<task>, and nothing does after
// the last line, or once $SOAK/calm is there. It does its work the same way however
// often it is begun.
const wild = `prompt=$(cat)
T=$RALPH_TASK
SHARED= UNIQ= WEAKEN= DOC= DOOMED=
. "$SOAK/kinds/$T"
fate() { # the next one of this task in this stage
	echo x >> "$SOAK/turns/$T.$RALPH_STAGE"
	test -e "$SOAK/calm" || sed -n "$(wc -l < "$SOAK/turns/$T.$RALPH_STAGE")p" "$SOAK/fates/$T.$RALPH_STAGE" 2> /dev/null
}
add() { grep -qxF "$1" "$2" 2> /dev/null || echo "$1" >> "$2"; }
work() {
	mkdir -p work shared uniq
	echo "$T" > "work/$T"
	for n in $SHARED; do add "$T" "shared/$n"; done
	if test -n "$UNIQ"; then
		taken=$(ls uniq | grep "^$UNIQ\." | grep -v "\.$T$")
		if test -n "$taken"; then rm -f "uniq/$UNIQ.$T"; else echo "$T" > "uniq/$UNIQ.$T"; fi
	fi
	case $DOC in
	delete*) rm -f "doc/${DOC#delete}" ;;
	edit*) test ! -e "doc/${DOC#edit}" || add "$T" "doc/${DOC#edit}" ;;
	esac
	if test -n "$WEAKEN"; then
		case $prompt in *'keep the tests'*) touch "$SOAK/kept/$T" ;; esac
		if test -e "$SOAK/kept/$T"; then git checkout -q main -- "tests/${T}_test.go"
		else sed -i '/^func TestSecond/,/^}/d' "tests/${T}_test.go"; fi
	fi
}
resolve() {
	for f in $(git diff --name-only --diff-filter=U); do
		test ! -e "$f" || sed -i -e '/^<<<<<<< /d' -e '/^||||||| /,/^=======$/d' -e '/^=======$/d' -e '/^>>>>>>> /d' "$f"
	done
	work
	git add -A
}
daemon() {
	setsid sh -c 'trap "" TERM HUP INT; while :; do sleep 1; done' > /dev/null 2>&1 &
	note $!
}
if test $RALPH_STAGE = resolve; then
	case $(fate) in
	fail) exit 3 ;;
	crash) kill -9 $$ ;;
	lazy) echo '<ralph>COMPLETE</ralph>'; exit ;;
	esac
	resolve
	echo '<ralph>COMPLETE</ralph>'
	exit
fi
if test -n "$DOOMED"; then work; exit 3; fi
case $(fate) in
fail) exit 3 ;;
partial) mkdir -p work; echo half > "work/$T"; exit ;;
crash) work; kill -9 $$ ;;
hang) work; sleep 300 & note $!; wait ;;
red) work; touch broken; echo '<ralph>COMPLETE</ralph>'; exit ;;
human) mkdir -p work; echo asked > "work/$T"; echo '<ralph>NEEDS_HUMAN: which way?</ralph>'; exit ;;
blocked) echo '<ralph>BLOCKED: the service is down</ralph>'; exit ;;
daemon) daemon; sleep 300 & note $! ;;
rmgit) work; rm .git ;;
rmgitfail) work; rm -f .git; exit 3 ;;
lock) touch "$(git rev-parse --git-dir)/index.lock" ;;
commit) work; git add -A; git commit -q -m "Work on $T" ;;
detach) git checkout -q --detach; work; git add -A; git commit -q -m "Work on $T" ;;
halfcommit) mkdir -p work; echo half > "work/$T"; git add -A; git commit -q -m "Half of $T"; exit 3 ;;
git) git status --porcelain; git branch --list; git stash list; git worktree list; git gc --auto -q; git log -1 --format=%s ;;
junk) mkdir -p junk; head -c 200000 /dev/zero > junk/$T.tmp; git clean -fdxq ;;
esac
rm -f broken
work
echo '<ralph>COMPLETE</ralph>'
`

// The fates of turns, those that are more likely named more often. A hang takes a
// slot for the whole of task.timeout.
func buildFates() []string {
	return []string{
		"fail", "fail", "partial", "crash", "crash", "hang", "red", "red", "human", "blocked", "daemon", "daemon",
		"rmgit", "rmgitfail", "lock", "commit", "commit", "detach", "halfcommit", "git", "git", "junk",
	}
}

// member is a task of the crowd: what it has to do, and what befalls it.
type member struct {
	planned
	shared  []int
	uniq    int // of those with the same number only one may be there
	weaken  bool
	doc     string // "delete3", "edit3"
	doomed  bool
	fates   []string
	resolve []string
}

// draw makes the tasks of a crowd.
func draw(random *rand.Rand, n int) []member {
	crowd := make([]member, n)
	for i := range crowd {
		m := &crowd[i]
		m.planned = plannedTask(i)
		for range random.IntN(3) {
			if near := i - 1 - random.IntN(20); near >= 0 && random.IntN(2) == 0 && !slices.Contains(m.Deps, plannedTask(near).ID) {
				m.Deps = append(m.Deps, plannedTask(near).ID)
			}
		}
		m.Tags = [][]string{nil, nil, nil, {"critical"}, {"quick-win"}}[random.IntN(5)]
		switch k := random.IntN(100); {
		case k < 30:
			m.shared = []int{random.IntN(4), 4 + random.IntN(4)}
		case k < 40:
			m.uniq = 1 + random.IntN(max(1, n/16))
		case k < 46:
			m.weaken = true
		case k < 52:
			m.doc = fmt.Sprintf("%s%d", []string{"delete", "edit"}[k%2], random.IntN(max(1, n/40)))
		case k < 54:
			m.doomed = true
		}
		for random.IntN(100) < 65 && len(m.fates) < 5 {
			m.fates = append(m.fates, buildFates()[random.IntN(len(buildFates()))])
		}
		for random.IntN(100) < 40 && len(m.resolve) < 3 {
			m.resolve = append(m.resolve, []string{"fail", "crash", "lazy"}[random.IntN(3)])
		}
	}
	return crowd
}

// kind is what the agent reads of it.
func (m member) kind() string {
	var b strings.Builder
	if len(m.shared) > 0 {
		fmt.Fprintf(&b, "SHARED='%s'\n", strings.Trim(fmt.Sprint(m.shared), "[]"))
	}
	if m.uniq > 0 {
		fmt.Fprintf(&b, "UNIQ=%d\n", m.uniq)
	}
	if m.weaken {
		b.WriteString("WEAKEN=1\n")
	}
	if m.doomed {
		b.WriteString("DOOMED=1\n")
	}
	fmt.Fprintf(&b, "DOC=%s\n", m.doc)
	return b.String()
}
