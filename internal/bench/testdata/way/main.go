// Way does what any step on another machine has to, with as little as Temporal and git allow: a workflow with one
// activity, from one process to another, with the work in its payload there and back; or the same with the work by a bare
// remote, which is a push and a fetch there, and a push and a fetch back. It decides nothing, places no file and
// keeps nothing: the least that the way can cost, whoever goes it.
//
//	way worker <queue> <repository>    # of its own, until it is told to end
//	way steps <queue> <n> <hub> <kB>   # prints the middle of both, in milliseconds
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Step is what travels.
type Step struct {
	Queue, Hub, Ref string
	Work            []byte
}

func main() {
	c, err := client.Dial(client.Options{HostPort: os.Getenv("TEMPORAL_ADDRESS"), Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		panic(err)
	}
	queue := os.Args[2]
	if os.Args[1] == "worker" {
		w := worker.New(c, queue, worker.Options{DisableWorkflowWorker: true})
		w.RegisterActivity(Carry)
		if err := w.Start(); err != nil {
			panic(err)
		}
		if err := os.Chdir(os.Args[3]); err != nil {
			panic(err)
		}
		fmt.Println("ready")
		<-worker.InterruptCh()
		w.Stop()
		return
	}
	n, _ := strconv.Atoi(os.Args[3])
	hub := os.Args[4]
	size, _ := strconv.Atoi(os.Args[5])
	w := worker.New(c, queue+"-coordinator", worker.Options{})
	w.RegisterWorkflow(Way)
	if err := w.Start(); err != nil {
		panic(err)
	}
	defer w.Stop()
	work := make([]byte, size<<10)
	_, _ = rand.Read(work)
	fmt.Printf("%.2f %.2f\n", middle(n, func(int) { run(c, Step{Queue: queue, Work: work}) }), middle(n, func(i int) {
		in := Step{Queue: queue, Hub: hub, Ref: fmt.Sprintf("refs/way/%d/in", i)}
		push(hub, in.Ref, fmt.Sprint(i))
		out := run(c, in)
		git("", "fetch", "-q", hub, out.Ref)
	}))
}

// middle is that of n runs, the first left out.
func middle(n int, do func(i int)) float64 {
	var took []float64
	for i := range n + 1 {
		begin := time.Now()
		do(i)
		took = append(took, float64(time.Since(begin).Microseconds())/1000)
	}
	took = took[1:]
	slices.Sort(took)
	return took[n/2]
}

func run(c client.Client, in Step) (out Step) {
	r, err := c.ExecuteWorkflow(context.Background(), client.StartWorkflowOptions{TaskQueue: in.Queue + "-coordinator", EnableEagerStart: true}, Way, in)
	if err == nil {
		err = r.Get(context.Background(), &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

// Way is the workflow.
func Way(ctx workflow.Context, in Step) (out Step, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{TaskQueue: in.Queue, StartToCloseTimeout: time.Minute})
	err = workflow.ExecuteActivity(ctx, Carry, in).Get(ctx, &out)
	return out, err
}

// Carry is the activity.
func Carry(in Step) (Step, error) {
	if in.Ref == "" {
		return in, nil
	}
	git("", "fetch", "-q", in.Hub, in.Ref)
	out := Step{Ref: in.Ref + "-out"}
	push(in.Hub, out.Ref, "outcome of "+in.Ref)
	return out, nil
}

// push brings a commit of a new file to the remote.
func push(hub, ref, text string) {
	blob := git(text, "hash-object", "-w", "--stdin")
	tree := git("100644 blob "+blob+"\tfile\n", "mktree")
	git("", "push", "-q", hub, git("", "commit-tree", "-m", "way", tree)+":"+ref)
}

func git(in string, args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	if err != nil {
		panic(fmt.Sprint(args, err, string(out)))
	}
	return strings.TrimSpace(string(out))
}
