package scale

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// load is what a fleet is asked to do. Its repositories have an equal part each of tasks and slots.
type load struct {
	repositories int
	tasks, slots int           // of all of them
	batch        int           // merge.batch: tasks that are merged and checked together
	turns        time.Duration // the median of what agents take for a task
	spread       float64       // sigma of the logarithm; 0: all take the same
	check        time.Duration // of the checks: of a task's work, and once more on the merged tree
	red          float64       // the part of the tasks that are red on the merged tree, until an agent mends them
}

// costs are what the parts of a fleet take, as they were measured.
type costs struct {
	step     time.Duration // from a decision to its begin on a worker, and back
	decide   time.Duration // of the coordinator's cpu for a task: its facts, files and merge
	choose   time.Duration // more of it for each task of the plan: each fact is followed by a look at all
	wake     time.Duration // more of it for each slot: each fact wakes all of them
	prepare  time.Duration // of a worktree, on the worker
	merge    time.Duration // git's part of a merge, for each member
	mergeAll time.Duration // the part of a merge that does not grow with its members, beside the checks
	advance  time.Duration // the branch moves, and what is merged is pushed
	transfer time.Duration // of the git server, for each fetch or push of a task's work
	server   int           // transfers that the git server does at once
}

// outcome is what came of it.
type outcome struct {
	took      time.Duration
	slots     float64       // the mean of the slots at work, of all
	merges    float64       // how much of the time merges were under way
	decisions float64       // how much of a core the busiest coordinator needed
	server    float64       // how much of the git server was used
	waiting   int           // the most tasks that waited to be merged, of one repository
	wait      time.Duration // the median of that wait
	rate      float64       // tasks an hour
}

// simulate works through a load. The same seed draws the same.
func simulate(l load, c costs, seed uint64) outcome {
	w := &world{load: l, costs: c, draw: rand.New(rand.NewPCG(seed, 0)), git: station{channels: make([]time.Duration, max(1, c.server))}}
	for i := range l.repositories {
		r := &repository{world: w, left: l.tasks / l.repositories, free: l.slots / l.repositories, brain: station{channels: make([]time.Duration, 1)}}
		if i < l.tasks%l.repositories {
			r.left++
		}
		r.plan = r.left
		w.all = append(w.all, r)
		r.fill()
	}
	for w.coming.Len() > 0 {
		next := heap.Pop(&w.coming).(event)
		w.now = next.at
		next.do()
	}
	return w.outcome()
}

// world is the clock, what comes, and what all repositories share.
type world struct {
	load
	costs
	draw   *rand.Rand
	now    time.Duration
	made   int // events so far: of two at the same time the first that was made comes first
	coming events
	git    station
	all    []*repository
	worked time.Duration // slots at work, added up
	waits  []time.Duration
}

func (w *world) in(d time.Duration, do func()) {
	w.made++
	heap.Push(&w.coming, event{at: w.now + d, made: w.made, do: do})
}

// repository is one coordinator, with its plan and its merge queue.
type repository struct {
	*world
	plan, left, begun int // tasks in all, not begun, begun
	free              int // slots without work
	brain             station
	queue             []*task
	merging           bool
	mend              []*task       // wait for an agent: one at a time, for a red check may be about any file
	mending           *task         // until it is merged
	merged            time.Duration // merges under way, added up
	most              int
}

type task struct {
	red   bool
	most  int // it was in a red batch: the most that it is merged with
	since time.Duration
}

// fill gives free slots work: what is red before what has not begun.
func (r *repository) fill() {
	if r.free > 0 && len(r.mend) > 0 && r.mending == nil {
		r.mending, r.mend = r.mend[0], r.mend[1:]
		r.free--
		r.mending.red = false
		r.work(r.mending, 0)
	}
	for r.free > 0 && r.left > 0 {
		r.free, r.left = r.free-1, r.left-1
		r.begun++
		r.work(&task{red: int(float64(r.begun)*r.red) > int(float64(r.begun-1)*r.red)}, r.prepare)
	}
}

// work is a task in a slot: decided, sent, done by an agent, checked, sent back, queued.
func (r *repository) work(t *task, prepare time.Duration) {
	begun := r.now
	turns := time.Duration(float64(r.turns) * math.Exp(r.spread*r.draw.NormFloat64()))
	r.pass(&r.brain, r.decision()/2, func() {
		r.pass(&r.git, r.transfer, func() {
			r.in(r.step+prepare+turns+r.check, func() {
				r.pass(&r.git, r.transfer, func() {
					r.pass(&r.brain, r.decision()/2, func() {
						r.worked += r.now - begun
						r.free++
						t.since = r.now
						if t == r.mending {
							r.queue = slices.Insert(r.queue, 0, t) // what is red next waits for it
						} else {
							r.queue = append(r.queue, t)
						}
						r.most = max(r.most, len(r.queue))
						r.fill()
						r.mergeNext()
					})
				})
			})
		})
	})
}

// decision is what the coordinator thinks for one task.
func (r *repository) decision() time.Duration {
	return r.decide + time.Duration(r.plan)*r.choose + time.Duration(r.slots/r.repositories)*r.wake
}

// mergeNext takes the first of the queue through the merge, one batch at a time, as the policy
// does: a red batch goes again in halves, and what is red alone goes back to an agent.
func (r *repository) mergeNext() {
	if r.merging || len(r.queue) == 0 {
		return
	}
	n, most := 0, r.batch
	for _, t := range r.queue {
		if t.most > 0 {
			most = min(most, t.most)
		}
		if n >= most {
			break
		}
		n++
	}
	members := slices.Clone(r.queue[:n])
	r.queue = r.queue[n:]
	r.merging = true
	tries := r.mergeAll + time.Duration(n)*r.merge + r.check
	isRed := slices.ContainsFunc(members, func(t *task) bool { return t.red })
	if !isRed {
		tries += r.advance
	}
	r.in(tries, func() {
		r.merged += tries
		r.merging = false
		switch {
		case !isRed:
			for _, t := range members {
				r.waits = append(r.waits, r.now-tries-t.since)
				if t == r.mending {
					r.mending = nil
				}
			}
			r.fill()
		case n == 1:
			r.mend = append(r.mend, members[0])
			r.fill()
		default:
			for _, t := range members {
				t.most = max(1, n/2)
			}
			r.queue = append(members, r.queue...)
		}
		r.mergeNext()
	})
}

// pass goes through a station and then on.
func (r *repository) pass(s *station, d time.Duration, then func()) {
	r.in(s.serve(r.now, d)-r.now, then)
}

// station serves in order of arrival, as many at once as it has channels.
type station struct {
	channels []time.Duration // when each is free
	busy     time.Duration
}

func (s *station) serve(now, d time.Duration) (done time.Duration) {
	first := 0
	for i, free := range s.channels {
		if free < s.channels[first] {
			first = i
		}
	}
	s.busy += d
	s.channels[first] = max(now, s.channels[first]) + d
	return s.channels[first]
}

func (w *world) outcome() outcome {
	o := outcome{took: w.now, rate: float64(w.tasks) / w.now.Hours(), slots: part(w.worked, w.now) / float64(w.load.slots), server: part(w.git.busy, w.now) / float64(len(w.git.channels))}
	for _, r := range w.all {
		o.merges = max(o.merges, part(r.merged, w.now))
		o.decisions = max(o.decisions, part(r.brain.busy, w.now))
		o.waiting = max(o.waiting, r.most)
	}
	slices.Sort(w.waits)
	o.wait = w.waits[len(w.waits)/2]
	return o
}

func part(of, all time.Duration) float64 { return float64(of) / float64(all) }

type event struct {
	at   time.Duration
	made int
	do   func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].made < e[j].made
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
