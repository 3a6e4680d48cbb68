// Package metrics owns what coordinators and workers count for an OpenTelemetry collector: what is
// counted, and when and how it is sent.
//
// It does NOT own when a step begins and ends (fleet), nor what Temporal's library counts.
package metrics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/proc"
)

// own is the library of what is counted here.
const own = "github.com/ralph-loop/ralph"

// goodbye is how long a collector may take to hear the last of it.
const goodbye = 5 * time.Second

// Meters count. They are off (nil, which counts nothing) unless the variables that every program
// with OpenTelemetry reads name a collector. No name of a task, no address of a repository and no
// text is among the attributes.
type Meters struct {
	provider *sdk.MeterProvider

	underWay metric.Int64UpDownCounter
	took     metric.Float64Histogram
	tokens   metric.Int64Histogram
	cost     metric.Float64Counter
}

// Part is who counts.
type Part struct {
	Service string // ralph-coordinator, ralph-worker; OTEL_SERVICE_NAME counts before it
	ID      string // of this one among them
	Version string
}

// New reads the variables, and begins to send every minute (OTEL_METRIC_EXPORT_INTERVAL).
// That a collector cannot be reached is said once and hinders nothing.
func New(ctx context.Context, environ []string, who Part, note func(format string, args ...any)) (*Meters, error) {
	exporter, err := exporterOf(ctx, environ)
	if exporter == nil || err != nil {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", who.Service), attribute.String("service.version", who.Version), attribute.String("service.instance.id", who.ID),
	), resource.WithFromEnv())
	if err != nil {
		return nil, &ralph.Refusal{Why: "OTEL_RESOURCE_ATTRIBUTES: " + err.Error(), Hint: "say it like key=value,key=value", Kind: ralph.ErrUsage}
	}
	var once sync.Once
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { once.Do(func() { note("metrics are not delivered: %v", err) }) }))
	m := &Meters{provider: sdk.NewMeterProvider(sdk.WithResource(about), sdk.WithReader(sdk.NewPeriodicReader(exporter)))}
	return m, m.make()
}

// exporterOf is nil where nothing is configured.
func exporterOf(ctx context.Context, environ []string) (sdk.Exporter, error) {
	get := func(name string) string { return proc.Getenv(environ, name) }
	endpoint := cmp.Or(get("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"), get("OTEL_EXPORTER_OTLP_ENDPOINT"))
	if endpoint == "" || strings.EqualFold(get("OTEL_SDK_DISABLED"), "true") || strings.EqualFold(get("OTEL_METRICS_EXPORTER"), "none") {
		return nil, nil
	}
	var e sdk.Exporter
	var err error
	switch protocol := cmp.Or(get("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"), get("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf"); protocol {
	case "http/protobuf":
		e, err = otlpmetrichttp.New(ctx) // reads where, how and with which headers from the same variables
	case "grpc":
		e, err = otlpmetricgrpc.New(ctx)
	default:
		return nil, &ralph.Refusal{Why: fmt.Sprintf("OTEL_EXPORTER_OTLP_PROTOCOL=%s is not spoken here", protocol), Hint: "use http/protobuf or grpc", Kind: ralph.ErrUsage}
	}
	if err != nil {
		return nil, fmt.Errorf("set up metrics for %s: %w", endpoint, err)
	}
	return e, nil
}

// make makes the instruments. Names and buckets of tokens are those of OpenTelemetry's conventions
// for generative AI.
func (m *Meters) make() (err error) {
	ours := m.Of(own)
	keep := func(e error) { err = errors.Join(err, e) }
	var e error
	m.underWay, e = ours.Int64UpDownCounter("ralph.steps.active", metric.WithUnit("{step}"), metric.WithDescription("Steps under way; at a coordinator also those that wait for a worker"))
	keep(e)
	m.took, e = ours.Float64Histogram("ralph.step.duration", metric.WithUnit("s"), metric.WithDescription("How long a step took, at a coordinator from sending it to taking its outcome"),
		metric.WithExplicitBucketBoundaries(0.1, 0.5, 1, 5, 15, 60, 180, 600, 1800, 3600, 7200))
	keep(e)
	m.tokens, e = ours.Int64Histogram("gen_ai.client.token.usage", metric.WithUnit("{token}"), metric.WithDescription("Tokens of a turn"),
		metric.WithExplicitBucketBoundaries(1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304))
	keep(e)
	m.cost, e = ours.Float64Counter("ralph.cost", metric.WithUnit("{USD}"), metric.WithDescription("What turns cost, as agents tell it"))
	keep(e)
	return err
}

// Of is what a library counts with, by its name.
func (m *Meters) Of(library string) metric.Meter { return m.provider.Meter(library) }

// Slots has the slots of a worker asked for whenever figures are sent.
func (m *Meters) Slots(all int, busy func() int) error {
	if m == nil {
		return nil
	}
	_, err := m.Of(own).Int64ObservableGauge("ralph.worker.slots", metric.WithUnit("{slot}"), metric.WithDescription("Slots of a worker, by whether a step is in them"),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			n := busy()
			o.Observe(int64(n), metric.WithAttributes(attribute.String("ralph.slot.state", "busy")))
			o.Observe(int64(all-n), metric.WithAttributes(attribute.String("ralph.slot.state", "free")))
			return nil
		}))
	return err
}

// Step counts a step that begins; what it returns, that it has ended.
func (m *Meters) Step(name string) (ended func(err error)) {
	if m == nil {
		return func(error) {}
	}
	ctx, began := context.Background(), time.Now()
	kind := attribute.String("ralph.step", name)
	m.underWay.Add(ctx, 1, metric.WithAttributes(kind))
	return func(err error) {
		m.underWay.Add(ctx, -1, metric.WithAttributes(kind))
		outcome := "done"
		if err != nil {
			outcome = "failed"
		}
		m.took.Record(ctx, time.Since(began).Seconds(), metric.WithAttributes(kind, attribute.String("ralph.step.outcome", outcome)))
	}
}

// Turns counts what the turns among facts used.
func (m *Meters) Turns(facts []ralph.Fact) {
	if m == nil {
		return
	}
	ctx := context.Background()
	for _, f := range facts {
		turn, ok := f.(ralph.TurnEnded)
		if !ok {
			continue
		}
		agent := attribute.String("gen_ai.agent.name", turn.Agent)
		for kind, n := range map[string]int64{"input": turn.Usage.Input + turn.Usage.CacheRead + turn.Usage.CacheWrite, "output": turn.Usage.Output} {
			if n > 0 {
				m.tokens.Record(ctx, n, metric.WithAttributes(agent, attribute.String("gen_ai.operation.name", "invoke_agent"), attribute.String("gen_ai.token.type", kind)))
			}
		}
		m.cost.Add(ctx, turn.Usage.Cost, metric.WithAttributes(agent))
	}
}

// Close sends what is left. A collector that does not answer is not waited for longer than goodbye.
func (m *Meters) Close() {
	if m == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	if err := m.provider.Shutdown(ctx); err != nil {
		otel.Handle(err)
	}
}
