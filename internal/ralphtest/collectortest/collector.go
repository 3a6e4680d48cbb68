// Package collectortest has an OpenTelemetry collector for tests: it keeps the figures that
// programs send it.
//
// It does NOT own what they should be (fleet).
package collectortest

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"
)

// Collector keeps the newest of each figure. It is safe for concurrent use.
type Collector struct {
	*httptest.Server

	mu      sync.Mutex
	figures map[string]string // by "service name key=value ..."
	header  string            // X-Key of the newest request
	raw     []byte
}

// New starts a collector, which ends with the test.
func New(t *testing.T) *Collector {
	t.Helper()
	c := &Collector{figures: map[string]string{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		b, err := io.ReadAll(q.Body)
		var all collector.ExportMetricsServiceRequest
		if err != nil || q.URL.Path != "/v1/metrics" || proto.Unmarshal(b, &all) != nil {
			t.Errorf("%s %s: no metrics: %v", q.Method, q.URL, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.header, c.raw = q.Header.Get("X-Key"), append(c.raw, b...)
		c.keep(&all)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *Collector) keep(all *collector.ExportMetricsServiceRequest) {
	for _, of := range all.GetResourceMetrics() {
		service := named(of.GetResource().GetAttributes(), "service.name")
		for _, scope := range of.GetScopeMetrics() {
			for _, m := range scope.GetMetrics() {
				put := func(attributes []*v1.KeyValue, value any) {
					c.figures[service+" "+m.GetName()+named(attributes)] = fmt.Sprint(value)
				}
				for _, p := range append(m.GetSum().GetDataPoints(), m.GetGauge().GetDataPoints()...) {
					if p.GetAsDouble() != 0 {
						put(p.GetAttributes(), p.GetAsDouble())
						continue
					}
					put(p.GetAttributes(), p.GetAsInt())
				}
				for _, p := range m.GetHistogram().GetDataPoints() {
					put(p.GetAttributes(), p.GetCount())
				}
			}
		}
	}
}

// named are attributes as text, or the value of one.
func named(list []*v1.KeyValue, only ...string) string {
	var b strings.Builder
	for _, a := range list {
		if len(only) > 0 && a.GetKey() == only[0] {
			return a.GetValue().GetStringValue()
		}
		fmt.Fprintf(&b, " %s=%s", a.GetKey(), a.GetValue().GetStringValue())
	}
	return b.String()
}

// Has is the value of a figure, of a histogram how many there are; "" for none.
func (c *Collector) Has(figure string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.figures[figure]
}

// All are the figures that it has.
func (c *Collector) All() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.figures)
}

// Raw is all that was sent, and the header X-Key of the newest request.
func (c *Collector) Raw() (sent, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.raw), c.header
}
