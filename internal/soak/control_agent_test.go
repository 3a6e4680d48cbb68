//go:build linux && soak

package soak

import (
	"math/rand/v2"
	"strings"
)

// limitedScene is the scenario of every agent here: scripted agents can tell typed
// errors, windows and costs, and what they do is a shell script.
const limitedScene = `rules:
  - when: {compact: true}
    do:
      - show: . "$SOAK/compact.sh"
  - do:
      - show: . "$SOAK/turn.sh"
`

// turnScript is one turn. The service's limits are files, $SOAK/limit.<agent>: a kind
// and the time at which it ends. What else befalls the nth turn of a task stands in
// line n of $SOAK/fates/<task>.<stage>, or else <spec>.<stage>; with $SOAK/calm nothing does.
const turnScript = `note() { echo "$1 $(cut -d' ' -f22 /proc/$1/stat) $RALPH_STAGE $RALPH_TASK" >> "$SOAK/pids"; }
note $$
T=${RALPH_TASK:-$RALPH_SPEC}
fails() { echo "<ralph-error>{\"class\":\"$1\",\"message\":\"$1 by fate\"${2:+,\"reset_at\":\"$2\"}}</ralph-error>"; exit 1; }
fills() { echo "<ralph-context>{\"used\":$1,\"window\":200000}</ralph-context>"; }
costs() { echo "<ralph-usage>{\"input\":1000,\"output\":100,\"cost\":$1}</ralph-usage>"; }
work() { mkdir -p work; echo "$T" > "work/$T"; }
if test ! -e "$SOAK/calm" && read kind until 2> /dev/null < "$SOAK/limit.$AGENT"; then
	costs 0
	echo "limit $AGENT $kind $until" >> "$SOAK/limits"
	case $kind in
	reset) fails rate_limit "$until" ;;
	plain) fails rate_limit ;;
	text) echo 'Error: 429 Too Many Requests: rate limit reached' >&2; exit 1 ;;
	busy) fails overloaded ;;
	esac
fi
fate=
if test ! -e "$SOAK/calm"; then
	of=$T.$RALPH_STAGE
	test -e "$SOAK/fates/$of" || of=$RALPH_SPEC.$RALPH_STAGE
	echo x >> "$SOAK/turns/$of"
	fate=$(sed -n "$(wc -l < "$SOAK/turns/$of")p" "$SOAK/fates/$of" 2> /dev/null)
fi
case $fate in
silent) ;;
costly) costs 0.4 ;;
*) costs 0.01 ;;
esac
fills 20000
case $fate in
server | authentication | bad_request | refusal | unknown | protocol | budget | overloaded) work; fails $fate ;;
fail) exit 3 ;;
crash) work; kill -9 $PPID ;;
hang) work; sleep 300 & note $!; wait ;;
daemon) setsid sh -c 'trap "" TERM HUP INT; while :; do sleep 1; done' > /dev/null 2>&1 & note $! ;;
flood) head -c 3000000 /dev/zero | tr '\0' 'x' ;;
lines) yes 'a line of output as agents print them, again and again' | head -n 30000 ;;
warm) fills 150000 ;;
hot) fills 180000; mkdir -p work; echo half > "work/$T"; exit ;;
full) fills 195000; sleep 300 & note $!; wait ;;
context) fails context_full ;;
esac
case $RALPH_STAGE in
build | resolve) ;;
plan) printf '%s\n' '~~~json' '{"tasks":[{"name":"one"},{"name":"two","deps":["one"]},{"name":"three"}]}' '~~~' | tr '~' '\140'; exit ;;
decompose) printf '%s\n' '~~~json' '{"tasks":[{"name":"a smaller one"},{"name":"another"}]}' '~~~' | tr '~' '\140'; exit ;;
*) printf '%s\n' '~~~json' '{"verdicts":[]}' '~~~' | tr '~' '\140'; exit ;;
esac
case $fate in
red) work; touch broken; echo '<ralph>COMPLETE</ralph>'; exit ;;
human) mkdir -p work; echo asked > "work/$T"; echo '<ralph>NEEDS_HUMAN: which way?</ralph>'; exit ;;
blocked) echo '<ralph>BLOCKED: the service is down</ralph>'; exit ;;
partial) mkdir -p work; echo half > "work/$T"; exit ;;
commit) work; git add -A; git commit -q -m "Work on $T" ;;
esac
rm -f broken
work
echo '<ralph>COMPLETE</ralph>'
`

// compactScript makes the session shorter, or fails at it.
const compactScript = `echo '<ralph-usage>{"input":10,"output":1,"cost":0.001}</ralph-usage>'
case $(od -An -N1 -tu1 /dev/urandom | tr -d ' ') in
*0 | *1) echo '<ralph-error>{"class":"server","message":"cannot compact"}</ralph-error>'; exit 1 ;;
*2) echo '<ralph-context>{"used":190000,"window":200000}</ralph-context>' ;;
*) echo '<ralph-context>{"used":30000,"window":200000,"compacted":true}</ralph-context>' ;;
esac
`

// controlFates are what befalls turns, what is likelier named more often.
func controlFates() []string {
	return strings.Fields(`server server overloaded authentication bad_request refusal unknown protocol budget
		fail fail crash crash hang daemon flood lines warm hot hot hot hot full context silent costly costly
		red red human human blocked partial partial commit`)
}

// fatesOf draws what befalls the first turns of a task.
func fatesOf(random *rand.Rand, likely, most int) string {
	var b strings.Builder
	for n := 0; n < most && random.IntN(100) < likely; n++ {
		b.WriteString(controlFates()[random.IntN(len(controlFates()))] + "\n")
	}
	return b.String()
}
