package ui

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/ralphtest/storytest"
)

// newest is the newest fact.
func newest(r *repository) ralph.Fact {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.story.Events[len(r.story.Events)-1].Fact
}

// What nothing takes back is asked about, and no is the answer that stands there: stopping.
func TestStopIsAskedAbout(t *testing.T) {
	t.Parallel()
	for _, no := range []string{"enter", "esc", "n", "q"} {
		p := play(t, atWork(t), 100, 34)
		before := p.r.story.Seq
		p.press("s")
		p.want("Stop when the current iterations are over?", "‹ No ›")
		p.press(no)
		if p.m.popup != nil || p.r.story.Seq != before {
			t.Fatalf("%s on the question did something: %v", no, newest(p.r))
		}
		p.press("s", "y")
		if x, ok := newest(p.r).(ralph.Control); !ok || x.Want != ralph.WantStop {
			t.Fatalf("y made %#v", newest(p.r))
		}
	}
}

// A task that ran out of time is tried again, changed or rolled back with the keys r, e and R
// (B-034).
func TestTimedOutTask(t *testing.T) {
	t.Parallel()
	r := atWork(t)
	r.story.End("t-0002", ralph.TaskTimeout, "B-032", "50 iterations", false)
	p := play(t, r, 120, 40).press("2", "j")
	p.want("✗ timeout  t-0002", "r retry", "e edit", "R roll back")
	before := r.story.Seq
	p.press("R")
	p.want("Roll back", "‹ No ›")
	p.press("enter")
	if len(r.did) != 0 || r.story.Seq != before {
		t.Fatalf("enter on the question did something: %v", r.did)
	}
	p.press("R", "y")
	if len(r.did) != 1 || r.did[0] != "rollback t-0002" {
		t.Fatalf("R did %v", r.did)
	}
	p.press("e")
	p.want("Edit", "What to do, one line")
	p.press("esc", "r")
	if task := r.State().Task("t-0002"); task.Status != ralph.TaskPending {
		t.Fatalf("r left it %s", task.Status)
	}
}

// What opens a gate is read before it is done, and no is the answer that stands there.
func TestApproveIsAskedAbout(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 100, 34)
	before := p.r.story.Seq
	p.press("3", "a")
	p.want("Approve", "git push --force origin main", "Held by", "‹ Cancel ›")
	p.press("enter")
	if p.m.popup != nil || p.r.story.Seq != before {
		t.Fatalf("enter on the question did something: %v", newest(p.r))
	}
	p.press("a", "esc")
	if p.r.story.Seq != before {
		t.Fatalf("esc did something: %v", newest(p.r))
	}
	p.press("a", "y")
	if x, ok := newest(p.r).(ralph.Answered); !ok || x.ID != "g-1a2b" || x.Verdict != ralph.Approved {
		t.Fatalf("the newest fact is %#v, want the approval", newest(p.r))
	}
	p.want("✓ Approved")
}

// A word about a gate that somebody else has answered meanwhile says whose it was.
func TestSecondAnswerReadsWhy(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 100, 34).press("3", "a")
	p.r.add(ralph.Answered{ID: "g-1a2b", Verdict: ralph.Denied})
	p.press("y")
	p.want("it is decided already")
}

// What can be taken back is done at once, and u takes it back: pause and retry.
func TestUndo(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 100, 30).press("p")
	if x, ok := newest(p.r).(ralph.Control); !ok || x.Want != ralph.WantPause {
		t.Fatalf("p made %#v", newest(p.r))
	}
	p.look()
	p.want("Pausing", "u undo")
	p.press("u")
	if x, ok := newest(p.r).(ralph.Control); !ok || x.Want != ralph.WantRun {
		t.Fatalf("u made %#v", newest(p.r))
	}
}

// An edit writes what was changed and nothing else: what somebody else changes meanwhile stays.
func TestEditChangesOnlyWhatWasTyped(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 100, 40).press("2", "G", "e")
	p.want("What to do, one line")
	other := *p.r.State().Task("t-0005")
	other.Notes = "somebody else's"
	p.r.add(ralph.TaskEdited{Task: other})
	p.typed(" and more").press("ctrl+s")
	task := p.r.State().Task("t-0005")
	if task.Name != "Docs and more" || task.Notes != "somebody else's" || len(task.Deps) != 1 {
		t.Fatalf("the task is %+v", task)
	}
	p.want("✓ Changed")
}

// What is wrong with a form is said in it, and what was typed stays.
func TestFormSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 100, 40).press("2", "j", "+")
	p.typed("lots").press("ctrl+s")
	p.want("lots", "no whole number")
	if p.m.popup == nil {
		t.Fatal("the form is gone")
	}
}

// The palette finds an action by words of it and of its task, and asks as its key does.
func TestPalette(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 100, 40).press(":").typed("docs skip")
	p.want("Skip", "t-0005 Docs")
	p.press("enter")
	p.want("Why")
	p.typed("not now").press("ctrl+s")
	if task := p.r.State().Task("t-0005"); task.Status != ralph.TaskSkipped {
		t.Fatalf("t-0005 is %s", task.Status)
	}
}

// Whoever types the name of an action means that one, not another whose name has it too.
func TestPaletteTakesNamesAtTheirWord(t *testing.T) {
	t.Parallel()
	for name, title := range map[string]string{"add": "Add a task", "thread-add": "New thread", "st": "Stop", "plan": "Plan"} {
		p := play(t, atWork(t), 100, 40).press(":").typed(name)
		if have := p.m.popup.(*choice).list[0].left.String(); !strings.HasPrefix(have, title) {
			t.Errorf("%s finds %q first", name, have)
		}
	}
}

// What has no room is told: the help that goes on below, and a label that is longer than its form is wide.
func TestWhatHasNoRoomIsTold(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 60, 20).press("?")
	p.want("Keys, 1 to 12 of ")
	p.press(strings.Fields(strings.Repeat("down ", 14))...)
	p.want("Keys, 4 to 15 of ")
	p.press("esc", ":").typed("queue").press("enter")
	p.want("Priority: a whole number, higher comes first; empty:", "what the spec says")
}

// Every action that can be taken stands in the menu or the palette with its own form.
func TestEveryActionCanBeFound(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 120, 60)
	for range 5 {
		p.press("2")
		for range 6 {
			for _, o := range p.m.offers {
				found := false
				for _, e := range p.m.palette([]string{o.Action}) {
					found = found || strings.HasPrefix(e.left.String(), o.Title)
				}
				if !found {
					t.Errorf("%s of %q is not in the palette", o.Action, o.ID)
				}
			}
			p.press("j")
		}
	}
}

// J and K move a task in the plan, which keeps the keys.
func TestReorder(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 100, 30).press("2", "G", "K")
	p.look()
	if tasks := p.r.State().Plan.Tasks; tasks[3].ID != "t-0005" || tasks[4].ID != "t-0004" {
		t.Fatalf("the plan ends with %s, %s", tasks[3].ID, tasks[4].ID)
	}
	if r, ok := p.m.chosen(); !ok || r.Task != "t-0005" {
		t.Fatalf("%s is chosen", r.Task)
	}
	p.press("J")
	if tasks := p.r.State().Plan.Tasks; tasks[4].ID != "t-0005" {
		t.Fatalf("the plan ends with %s", tasks[4].ID)
	}
}

// In the past nothing can be done, and esc leads back to now.
func TestTimeTravel(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 100, 30).press("2", "t")
	p.want("AS IT WAS", "fact 53 of 54")
	p.press("<", "<", "<", "<")
	p.want("AS IT WAS")
	p.wantNot("t-0003 Parse dates         failed")
	before := p.r.story.Seq
	p.press("p", "s", "r", "e")
	p.want("nothing can be done about it")
	if p.r.story.Seq != before || p.m.popup != nil {
		t.Fatal("something was done in the past")
	}
	p.press("esc")
	p.wantNot("AS IT WAS")
}

// Rows are filtered by words, without those with ! before them; text is searched with n.
func TestSearch(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 100, 30).press("2", "/").typed("t-000 !header").press("enter")
	p.want("t-0002", "t-0005", "/t-000 !header")
	p.wantNot("Read the header  ")
	p.press("esc", "]", "]", "]", "tab", "/").typed("var b").press("enter")
	p.want("+var b = 3")
	if p.m.pane.hit == 0 {
		t.Error("nothing was found in the diff")
	}
}

// An engine that is killed leaves the screen as it was then, and says so; one that is started
// again is shown (E-086).
func TestEngineDiesAndComesBack(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 100, 30)
	p.r.alive = false
	p.look()
	p.want("the engine died", "cut off")
	p.wantNot("follows")
	p.r.alive = true
	p.look()
	p.want("▶ Autopilot Running", "follows")
}

// Who scrolls up in an output stays there, is told how much came, and follows again with f.
func TestFollow(t *testing.T) {
	t.Parallel()
	r := atWork(t)
	write(t, r.root, "t-0002/2/output.log", strings.Repeat("a line of an agent\n", 200))
	p := play(t, r, 100, 30)
	p.want("follows")
	p.press("tab", "k", "k")
	write(t, r.root, "t-0002/2/output.log", strings.Repeat("a line of an agent\n", 207))
	p.send(tickMsg(time.Now()))
	p.want("7 new lines below: f")
	p.press("f")
	p.want("follows")
}

// A monkey presses keys, resizes, and the work goes on meanwhile: every picture is as wide and
// high as the terminal, nothing panics, and what has a question is done by its answer alone.
func TestMonkey(t *testing.T) {
	t.Parallel()
	keys := strings.Fields("j k g G 1 2 3 4 5 6 7 8 tab enter esc ] [ f w z / n N : x u t , . < > y T ? p s a d r e R X + y n space left right up down pgdown pgup ctrl+s ctrl+p backspace home end l h o 界 !")
	for seed := range uint64(ralphtest.Rounds(2, 5)) { //nolint:gosec // few
		rnd := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a monkey
		p := play(t, atWork(t), 80, 24)
		var pressed []string
		for range 600 {
			switch rnd.IntN(20) {
			case 0:
				p.send(tea.WindowSizeMsg{Width: 40 + rnd.IntN(120), Height: 15 + rnd.IntN(45)})
			case 1:
				p.send(tea.MouseClickMsg{X: rnd.IntN(150), Y: rnd.IntN(50), Button: tea.MouseLeft})
			case 2:
				p.send(tea.MouseWheelMsg{X: rnd.IntN(150), Y: rnd.IntN(50), Button: tea.MouseWheelDown})
			case 3:
				p.r.alive = rnd.IntN(3) > 0
				p.look()
			case 4:
				p.send(tea.PasteMsg{Content: "pasted\nwords \x1b[2J"})
			default:
				k := keys[rnd.IntN(len(keys))]
				if p.m.popup != nil && rnd.IntN(4) == 0 {
					k = "esc" // else it would type for ever
				}
				pressed = append(pressed, k)
				f, open := p.m.popup.(*form)
				cmd := p.m.Update(press(k))
				answered := open && p.m.doing != "" && f.offer.Action == p.m.doing
				if p.m.doing != "" && !answered && k != "u" && needsAnswer(p, p.m.doing) {
					t.Fatalf("seed %d: %s was done without an answer, after %v", seed, p.m.doing, pressed[max(0, len(pressed)-12):])
				}
				p.run(cmd)
			}
			for i, l := range p.m.frame() {
				if l.Width() != p.m.width {
					t.Fatalf("seed %d: line %d is %d wide, not %d, after %v:\n%q", seed, i, l.Width(), p.m.width, pressed[max(0, len(pressed)-12):], l.String())
				}
			}
			if n := len(p.m.frame()); p.m.width > 0 && n != p.m.height {
				t.Fatalf("seed %d: %d lines, not %d", seed, n, p.m.height)
			}
		}
	}
}

// needsAnswer reports whether the table has a question for the action as it is offered now.
func needsAnswer(p *player, name string) bool {
	for _, o := range p.m.offers {
		if o.Action == name {
			return o.Confirm != "" || o.Action == "approve"
		}
	}
	return false
}

// crowd is a session with so many agents at work that each print.
func crowd(t testing.TB, slots int) *repository {
	t.Helper()
	x := storytest.New()
	var tasks []ralph.Task
	for i := range slots {
		tasks = append(tasks, ralph.Task{ID: ralph.TaskID("t-" + string(rune('a'+i/26)) + string(rune('a'+i%26))), Name: "Work on a part of the whole"})
	}
	x.Begin(tasks...)
	words := map[ralph.TaskID]string{}
	for i, task := range tasks {
		x.Start(task.ID, i+1)
		x.Receipt(task.ID, ralph.Turn{Stage: ralph.KindBuild, Agent: "claude", Iteration: 1}, ralph.Why{Rule: "B-011", Text: "the task begins"})
		words[task.ID] = "I look at the next file"
	}
	r := &repository{story: x, root: t.TempDir(), alive: true, moved: make(chan struct{}), words: words}
	write(t, r.root, "t-aa/1/output.log", strings.Repeat("\x1b[32mok\x1b[0m a line of an agent with some words in it\n", 1000))
	return r
}

// One look and one picture of a screen with 32 agents at work.
func BenchmarkPicture(b *testing.B) {
	p := play(b, crowd(b, 32), 200, 60)
	b.ReportAllocs()
	for b.Loop() {
		p.look()
		p.m.picture()
	}
}

// A key and its picture.
func BenchmarkKey(b *testing.B) {
	p := play(b, crowd(b, 32), 200, 60)
	b.ReportAllocs()
	for b.Loop() {
		p.press("j", "k")
		p.m.picture()
	}
}

// The key that answers leads to what waits where it was pressed on something else; nothing is
// answered that was not read.
func TestAnswerLeadsToWhatWaits(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 120, 40)
	before := p.r.story.Seq
	p.press("a")
	p.want("Held by", "This waits for you", "a approve", "d deny") // the words leave the keys where they are
	if p.r.story.Seq != before || p.m.popup != nil {
		t.Fatalf("a on something else answered: %v", newest(p.r))
	}
	p.press("a")
	p.want("‹ Cancel ›")
}

// A conflict that no agent resolves: what a yes comes to, and the commands that resolve it, are read
// before it is answered, in the list and in the question.
func TestConflictSaysHowItIsResolved(t *testing.T) {
	t.Parallel()
	r := conflicting(t)
	r.add(ralph.Asked{Approval: ralph.Approval{ID: "g-2c3d", Kind: ralph.ApprovalMerge, Task: r.story.Merge(), About: "t-0002", Text: "task t-0002 conflicts with what is merged in body.go", AskedAt: r.story.Now}})
	p := play(t, r, 120, 50).press("3", "j")
	p.want("Yes:     The merge is tried again", "git worktree add -f ../t-0002 ralph/t-0002", "No:      The task fails")
	p.press("a")
	p.want("‹ No ›", "git -C ../t-0002 merge ralph/feature-x", "<<<<<<< ours")
}

// The same key where nothing waits says so: it is not the chosen row that has nothing to approve. What
// needs a person in another way is shown whole, with what helps.
func TestAnswerWhereNothingWaits(t *testing.T) {
	t.Parallel()
	r := atWork(t)
	r.add(ralph.Answered{ID: "g-1a2b", Verdict: ralph.Denied})
	p := play(t, r, 120, 40).press("2", "a")
	p.want("Nothing waits for you now")
	r.add(ralph.Asked{Approval: ralph.Approval{ID: "g-2c3d", Kind: ralph.ApprovalQuestion, Task: "t-0004", Text: "Which?", AskedAt: r.Now(), InTurn: true}})
	p.look()
	p.want("1 needs you", "a needs you")
	p.wantNot("Nothing waits for you now")
	r.add(ralph.Answered{ID: "g-2c3d", Text: "that one"})
	r.add(ralph.Stalled{Since: r.Now(), Active: []ralph.TaskID{"t-0002"}, Report: "ralph report --bug"})
	p.look()
	p.want("1 needs you")
	p.press("a")
	p.want("Nothing waits to be approved or answered; 3 shows what needs you")
	p.press("3")
	p.want("please report it with", "What helps: ", "ralph stop --now", "then start again", "Output")
}

// The help has the way to what waits for a person, and it goes it.
func TestHelpLeadsToWhatWaits(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 100, 40).press("2", "?").typed("needs you")
	p.want("what needs you")
	p.press("enter")
	p.want("Held by", "a approve")
}

// What was said last stands beside the keys, not in their place: who does not know the screen reads
// only there what to press. What is open has keys of its own, and none of the others.
func TestWordsLeaveTheKeys(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{120, 36}, {80, 24}, {60, 20}} {
		p := play(t, atWork(t), size[0], size[1]).press("2", "j", "p")
		p.look()
		p.want("✓ Pausing", "u undo")
		if size[0] > 100 {
			p.want("? keys", "q leave", "p resume")
		}
		p.press("3", "a")
		p.want("y: approve")
		p.wantNot("a approve", "q leave", "u undo")
	}
}

// One panel at a time: its border says how to get to the other one.
func TestOnePanelSaysTheWay(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 60, 20).press("3")
	p.want("enter opens it", "a approve", "d deny")
	p.press("enter")
	p.want("Held by", "esc leads back", "a approve", "d deny")
}

// The palette has each action once, also those of the task that is chosen and named.
func TestPaletteHasEachOnce(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 100, 40).press("2", "G", ":").typed("t-0005 skip")
	if n := strings.Count(p.text(), "Skip …"); n != 1 {
		t.Errorf("the palette has %d times the same:\n%s", n, p.text())
	}
}

// A palette that is open follows what can be done: an engine that has ended meanwhile can be
// started.
func TestPaletteFollows(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 100, 40).press(":").typed("start")
	p.want("Nothing is called so")
	p.r.alive = false
	p.look()
	p.want("Start …")
}

// An output that grows is looked at ten times a second; the longer nothing comes the more rarely, and
// then only with the repository, each second: an agent that thinks costs nothing. What comes then is
// shown, and followed as before.
func TestOutputRests(t *testing.T) {
	t.Parallel()
	r := atWork(t)
	p := play(t, r, 100, 30)
	var waits []time.Duration
	p.m.later = func(d time.Duration) tea.Cmd { waits = append(waits, d); return nil }
	for range 20 {
		p.send(tickMsg(time.Now()))
	}
	if want := []time.Duration{200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond}; !slices.Equal(waits, want) {
		t.Errorf("while nothing comes it waits %v, want %v", waits, want)
	}
	waits = nil
	write(t, r.root, "t-0002/2/output.log", "I think.\nI have thought about it.\n"+strings.Repeat("and more\n", 9))
	p.look()
	p.want("and more", "follows")
	if len(waits) != 1 || waits[0] != outputEvery {
		t.Errorf("after news it waits %v, want %v", waits, outputEvery)
	}
}

// Where one panel is shown at a time, a list without anything to choose is shown itself: who has
// answered the last question sees no empty panel.
func TestNothingChosenShowsTheList(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 60, 20).press("3", "enter", "a", "y")
	p.look()
	p.want("Nothing waits for you.")
	p.wantNot("Nothing is chosen")
}

// What cannot be shown as it was is said in words that are wrapped.
func TestPastSaysWhyItIsEmpty(t *testing.T) {
	t.Parallel()
	play(t, atWork(t), 80, 24).press("2", "j", "]", "]", "]", "t", ",").want("What agents said and changed is no fact", "esc leads back to now.")
}

// Done is what is done: a task that is blocked or out of time is counted as none that is, and a session
// that was interrupted has not completed.
func TestCountsOfThePlan(t *testing.T) {
	t.Parallel()
	r := atWork(t)
	p := play(t, r, 120, 40)
	p.want("Plan 1/5", "Step 3/5")
	r.story.End("t-0002", ralph.TaskBlocked, "B-065", "no account", false)
	r.story.Finish(ralph.ReasonInterrupted, "SIGINT")
	r.alive = false
	p = play(t, r, 120, 40)
	p.want("Plan 1/5", "No engine runs", "ended: interrupted")
	p.wantNot("Completed")
	p.wantNot("Step")
}
