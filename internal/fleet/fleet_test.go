package fleet

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/fleet/ident"
	"github.com/ralph-loop/ralph/internal/fleet/seal"
	"github.com/ralph-loop/ralph/internal/fleet/transport"
	"github.com/ralph-loop/ralph/internal/fleetcmd"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
)

func sealerOf(t *testing.T, b byte) seal.Sealer {
	t.Helper()
	k, err := seal.New(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// With a key nothing of a payload can be read, and one that is not sealed is refused. So it is with
// notes (internal/fleet/note).
func TestSealed(t *testing.T) {
	t.Parallel()
	k, other := sealerOf(t, 1), sealerOf(t, 2)
	if k.Fingerprint() == other.Fingerprint() || (seal.Sealer{}).Fingerprint() != "none" {
		t.Error("fingerprints do not tell keys apart")
	}
	dc := dataConverter(k)
	p, err := dc.ToPayload(Talk{By: "who asks"})
	if err != nil || bytes.Contains(p.GetData(), []byte("who asks")) {
		t.Errorf("payload: %v, %q", err, p.GetData())
	}
	var back Talk
	if err := dc.FromPayload(p, &back); err != nil || back.By != "who asks" {
		t.Errorf("payload back: %+v, %v", back, err)
	}
	clear, err := converter.GetDefaultDataConverter().ToPayload(Talk{By: "anybody"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (codec{other}).Decode([]*commonpb.Payload{p}); !errors.Is(err, seal.ErrSealed) {
		t.Errorf("another key: %v", err)
	}
	if _, err := (codec{k}).Decode([]*commonpb.Payload{clear}); !errors.Is(err, seal.ErrSealed) {
		t.Errorf("a payload in the clear: %v", err)
	}
}

// The same decision has the same key after a restart of the coordinator; another turn, another
// try of the task and another journal have others. What shrinks while time passes is no part of it.
func TestKey(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	of := func(change func(s *ralph.State, t *ralph.Task, turn *ralph.Turn)) string {
		task := &ralph.Task{ID: "t-1"}
		task.Run.Iterations, task.Run.LastAt, task.Run.Worktree.Base = 2, at, "b"
		s, turn := &ralph.State{Journal: "j"}, ralph.Turn{Agent: "claude", Iteration: 3, Timeout: time.Hour, MaxCost: 3}
		if change != nil {
			change(s, task, &turn)
		}
		k, err := ident.Key(s, task, turn)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	same := of(nil)
	for name, change := range map[string]func(s *ralph.State, t *ralph.Task, turn *ralph.Turn){
		"less time":   func(_ *ralph.State, _ *ralph.Task, turn *ralph.Turn) { turn.Timeout = time.Minute },
		"less money":  func(_ *ralph.State, _ *ralph.Task, turn *ralph.Turn) { turn.MaxCost, turn.Reserve.Cost = 1, 1 },
		"a new owner": func(s *ralph.State, t *ralph.Task, _ *ralph.Turn) { s.Session.ID, t.Run.InFlight = "s2", 77 },
	} {
		if of(change) != same {
			t.Errorf("%s makes another step of it", name)
		}
	}
	for name, change := range map[string]func(s *ralph.State, t *ralph.Task, turn *ralph.Turn){
		"turn":    func(_ *ralph.State, _ *ralph.Task, turn *ralph.Turn) { turn.Iteration++ },
		"words":   func(_ *ralph.State, _ *ralph.Task, turn *ralph.Turn) { turn.Feedback = "red" },
		"retry":   func(_ *ralph.State, t *ralph.Task, _ *ralph.Turn) { t.RetryCount++ },
		"outcome": func(_ *ralph.State, t *ralph.Task, _ *ralph.Turn) { t.Run.LastAt = at.Add(time.Second) },
		"base":    func(_ *ralph.State, t *ralph.Task, _ *ralph.Turn) { t.Run.Worktree.Base = "c" },
		"checks":  func(_ *ralph.State, t *ralph.Task, _ *ralph.Turn) { t.Run.Checks = &ralph.ChecksRan{} },
		"journal": func(s *ralph.State, _ *ralph.Task, _ *ralph.Turn) { s.Journal = "k" },
	} {
		if of(change) == same {
			t.Errorf("another %s is the same step", name)
		}
	}
}

// A worker of another version is on other queues: it never gets a step that it would misread.
func TestQueuesSayTheVersion(t *testing.T) {
	t.Parallel()
	for _, q := range []string{anyQueue("ralph"), agentQueue("ralph", "codex"), hostQueue("ralph", "big")} {
		if !strings.Contains(q, "/"+revision()+"/") {
			t.Errorf("%s says no version", q)
		}
	}
	if strings.Contains(controlQueue("ralph", "big")+seenQueue("ralph"), revision()) {
		t.Error("a worker of another version could neither be seen nor drained")
	}
}

// What goes over a network is encrypted, or somebody said that it need not be.
func TestServerInTheClear(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		address string
		env     []string
		refused bool
	}{
		{"127.0.0.1:7233", nil, false},
		{"localhost:7233", nil, false},
		{"[::1]:7233", nil, false},
		{"10.0.0.5:7233", nil, true},
		{"temporal.example:7233", nil, true},
		{"10.0.0.5:7233", []string{transport.InsecureVar + "=1"}, false},
		{"10.0.0.5:7233", []string{"TEMPORAL_TLS=true"}, false},
		{"x.tmprl.cloud:7233", []string{"TEMPORAL_API_KEY=k"}, false},
		{"127.0.0.1:7233", []string{seal.KeyVar + "=short"}, true},
		{"127.0.0.1:7233", []string{"TEMPORAL_TLS_CLIENT_CERT_PATH=/nowhere"}, true},
	} {
		o, _, err := Server{At: fleetcmd.At{Address: tt.address}, Environ: tt.env}.options("me")
		if (err != nil) != tt.refused {
			t.Errorf("%s with %v: %v", tt.address, tt.env, err)
		}
		if err == nil && tt.env != nil && strings.HasPrefix(tt.env[0], "TEMPORAL") && o.ConnectionOptions.TLS == nil {
			t.Errorf("%s with %v is spoken to without TLS", tt.address, tt.env)
		}
	}
	if err := checkURL("https://me:word@host/x.git"); err == nil {
		t.Error("an address with a password would stand in Temporal")
	}
	if err := checkURL("ssh://git@host/x.git"); err != nil {
		t.Error(err)
	}
}

// Slots bound all queues of a worker together; a queue that is only asked takes none.
func TestSlots(t *testing.T) {
	t.Parallel()
	s := newSlots(1)
	asked, err := s.ReserveSlot(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	took, err := s.ReserveSlot(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.ReleaseSlot(slotInfo{permit: asked})
	s.MarkSlotUsed(usedInfo{permit: took})
	if s.TryReserveSlot(nil) != nil || s.now() != 1 {
		t.Error("a slot more than there are")
	}
	s.ReleaseSlot(slotInfo{permit: took})
	if s.TryReserveSlot(nil) == nil || s.now() != 0 {
		t.Error("the slot is not free again")
	}
}

// slotInfo is what the SDK tells of a slot.
type slotInfo struct {
	worker.SlotReleaseInfo
	permit *worker.SlotPermit
}

func (i slotInfo) Permit() *worker.SlotPermit { return i.permit }

// usedInfo likewise, when a step came.
type usedInfo struct {
	worker.SlotMarkUsedInfo
	permit *worker.SlotPermit
}

func (i usedInfo) Permit() *worker.SlotPermit { return i.permit }
