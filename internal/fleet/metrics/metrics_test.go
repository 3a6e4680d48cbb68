package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ralphtest/collectortest"
)

// configured sets variables of this process: the exporters read them there.
func configured(t *testing.T, vars ...string) []string {
	t.Helper()
	for _, v := range vars {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	return vars
}

func silent(string, ...any) {}

// A collector gets what steps and turns took, with the header that opens it, and no name of a task.
func TestMetrics(t *testing.T) {
	c := collectortest.New(t)
	environ := configured(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-key=opens", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=here")
	m, err := New(t.Context(), environ, Part{"ralph-worker", "w1", "1.0"}, silent)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Slots(3, func() int { return 1 }); err != nil {
		t.Fatal(err)
	}
	m.Step("build")(nil)
	m.Step("build")(errors.New("the disk is full"))
	m.Step("check") // and it is under way
	m.Turns([]ralph.Fact{
		ralph.TurnEnded{Task: "t-secret", Agent: "codex", Tail: "words of an agent", Usage: ralph.Usage{Input: 10, CacheRead: 5, Output: 3, Cost: 0.25}},
		ralph.TurnEnded{Task: "t-secret", Agent: "codex", Usage: ralph.Usage{Cost: 0.5}},
		ralph.TaskStarted{ID: "t-secret"},
	})
	m.Close()
	for figure, want := range map[string]string{
		"ralph-worker ralph.step.duration ralph.step=build ralph.step.outcome=done":                                                  "1",
		"ralph-worker ralph.step.duration ralph.step=build ralph.step.outcome=failed":                                                "1",
		"ralph-worker ralph.steps.active ralph.step=build":                                                                           "0",
		"ralph-worker ralph.steps.active ralph.step=check":                                                                           "1",
		"ralph-worker ralph.worker.slots ralph.slot.state=busy":                                                                      "1",
		"ralph-worker ralph.worker.slots ralph.slot.state=free":                                                                      "2",
		"ralph-worker gen_ai.client.token.usage gen_ai.agent.name=codex gen_ai.operation.name=invoke_agent gen_ai.token.type=input":  "1",
		"ralph-worker gen_ai.client.token.usage gen_ai.agent.name=codex gen_ai.operation.name=invoke_agent gen_ai.token.type=output": "1",
		"ralph-worker ralph.cost gen_ai.agent.name=codex":                                                                            "0.75",
	} {
		if have := c.Has(figure); have != want {
			t.Errorf("%s: %q, want %q", figure, have, want)
		}
	}
	sent, key := c.Raw()
	if key != "opens" {
		t.Errorf("the header is %q", key)
	}
	for _, text := range []string{"t-secret", "words of an agent", "the disk is full"} {
		if strings.Contains(sent, text) {
			t.Errorf("the collector is told %q", text)
		}
	}
	if t.Failed() {
		t.Log(c.All())
	}
}

// Nothing is counted, sent or said where nothing is configured; nil takes all the same calls.
func TestMetricsAreOff(t *testing.T) {
	c := collectortest.New(t)
	for _, vars := range [][]string{
		nil,
		{"OTEL_SERVICE_NAME=x", "OTEL_EXPORTER_OTLP_HEADERS=a=b"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_SDK_DISABLED=true"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_METRICS_EXPORTER=none"},
	} {
		t.Run(fmt.Sprint(vars), func(t *testing.T) {
			m, err := New(t.Context(), configured(t, vars...), Part{}, silent)
			if m != nil || err != nil {
				t.Fatalf("%v, %v", m, err)
			}
			m.Step("build")(nil)
			m.Turns([]ralph.Fact{ralph.TurnEnded{}})
			if err := m.Slots(1, nil); err != nil {
				t.Error(err)
			}
			m.Close()
		})
	}
	if len(c.All()) > 0 {
		t.Errorf("the collector has %v", c.All())
	}
}

// What is set wrongly is said with what would be right; a collector that is not there is said once,
// and nobody waits for it.
func TestMetricsSetWrongly(t *testing.T) {
	_, err := New(t.Context(), configured(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL=smoke"), Part{}, silent)
	if err == nil || !strings.Contains(err.Error(), "smoke") || !errors.Is(err, ralph.ErrUsage) {
		t.Errorf("a protocol that is none: %v", err)
	}
	n, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = n.Close() // nobody is there
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		var said []string
		m, err := New(t.Context(), configured(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+n.Addr().String(), "OTEL_EXPORTER_OTLP_PROTOCOL="+protocol, "OTEL_EXPORTER_OTLP_TIMEOUT=200"), Part{}, func(format string, args ...any) {
			said = append(said, fmt.Sprintf(format, args...))
		})
		if err != nil {
			t.Fatal(err)
		}
		m.Step("build")(nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		for range 2 {
			if err := m.provider.ForceFlush(ctx); err != nil {
				otel.Handle(err)
			}
		}
		cancel()
		m.Close()
		if len(said) != 1 || !strings.Contains(said[0], "metrics are not delivered: ") {
			t.Errorf("%s: %q", protocol, said)
		}
	}
}
