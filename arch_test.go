package ralph_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/ralph-loop/ralph"

// layers is who may import whom, of our own packages: words, then what is pure,
// then effects, then composition, then surfaces. R is the root package. A row is
// as narrow as its package needs today: to widen one is a decision about the
// design, so say in the commit's body why (CONTRIBUTING.md, "A new package").
func layers() map[string][]string {
	all := pureLayers()
	maps.Copy(all, upperLayers())
	maps.Copy(all, commandLayers())
	maps.Copy(all, gitLayers())
	maps.Copy(all, screenLayers())
	maps.Copy(all, fleetLayers())
	maps.Copy(all, testLayers())
	return all
}

// pureLayers are words and what is pure.
func pureLayers() map[string][]string {
	return map[string][]string{
		"R":                   {"internal/lazyregexp", "internal/tally", "internal/text"},
		"internal/lazyregexp": {},
		"internal/labels":     {},
		"internal/fastpath":   {},
		"internal/regular":    {},
		"internal/version":    {},
		"internal/tally":      {},
		"internal/text":       {},
		"internal/chart":      {"internal/text"},
		// pure
		"internal/operation":         {"R", "internal/lazyregexp", "internal/text"},
		"internal/approval":          {"R", "internal/lazyregexp", "internal/operation", "internal/text"},
		"internal/eventname":         {"R"},
		"internal/notice":            {"internal/eventname"},
		"internal/lookup":            {"R", "internal/approval", "internal/regular"},
		"internal/queue":             {"R", "internal/specfile"},
		"internal/policy":            {"R", "internal/approval", "internal/lazyregexp", "internal/policy/breaker", "internal/queue", "internal/signature", "internal/tally", "internal/text", "internal/thread"},
		"internal/policy/breaker":    {"R"},
		"internal/policy/settings":   {},
		"internal/policy/rules":      {},
		"internal/policy/replay":     {"R", "internal/approval", "internal/policy", "internal/thread"},
		"internal/prompt":            {"R", "internal/lazyregexp", "internal/signature", "internal/text"},
		"internal/workers":           {"R", "internal/text"},
		"internal/workers/match":     {"internal/labels"},
		"internal/report":            {"R", "internal/action", "internal/specfile", "internal/text", "internal/workers"},
		"internal/report/receipts":   {"R", "internal/policy/rules", "internal/report", "internal/text"},
		"internal/report/gates":      {"R", "internal/action", "internal/report", "internal/text"},
		"internal/services":          {"R", "internal/action", "internal/policy/breaker", "internal/report", "internal/text"},
		"internal/status":            {"R", "internal/action", "internal/report", "internal/services", "internal/text", "internal/workers"},
		"internal/sessionreport":     {"R", "internal/action", "internal/chart", "internal/policy/rules", "internal/report", "internal/services", "internal/status", "internal/text"},
		"internal/signature":         {"R", "internal/text"},
		"internal/specdoc":           {"R", "internal/report", "internal/specfile", "internal/text"},
		"internal/specfile":          {"R"},
		"internal/stream":            {"R", "internal/text"},
		"internal/thread":            {"R", "internal/approval", "internal/signature", "internal/stream", "internal/text"},
		"internal/testdiff":          {"internal/lazyregexp", "internal/testdiff/language", "internal/text"},
		"internal/testdiff/language": {},
		"internal/testoutput":        {"internal/lazyregexp", "internal/text"},
		"internal/action":            {"R", "internal/labels", "internal/queue", "internal/lazyregexp", "internal/text"},
		"internal/keymap":            {"R", "internal/action", "internal/text"},
		"internal/redact":            {"internal/lazyregexp"},
	}
}

// upperLayers are effects and all above them.
func upperLayers() map[string][]string {
	return map[string][]string{
		// effects
		"internal/proc":           {"internal/text"},
		"internal/config":         {"R", "internal/config/setting", "internal/lazyregexp", "internal/notice"},
		"internal/config/setting": {"R", "internal/keymap", "internal/labels", "internal/lazyregexp", "internal/notice"},
		"internal/views":          {"R", "internal/queue", "internal/regular", "internal/specfile"},
		"internal/journal":        {"R", "internal/views"},
		"internal/records":        {"R", "internal/text"},
		"internal/specs":          {"R", "internal/regular", "internal/specfile"},
		"internal/locate":         {"internal/journal", "internal/proc"},
		"internal/termtext":       {"internal/lazyregexp", "internal/proc"},
		"internal/early":          {"R", "internal/action", "internal/termtext", "internal/locate", "internal/journal", "internal/proc", "internal/status"},
		"internal/livingdocs":     {"R", "internal/redact", "internal/specdoc", "internal/regular"},
		"internal/forge":          {"R", "internal/lazyregexp", "internal/outgoing", "internal/policy/breaker", "internal/redact", "internal/specdoc", "internal/specfile", "internal/text", "internal/tracker", "internal/tracker/github", "internal/regular"},
		"internal/outgoing":       {"R", "internal/git", "internal/git/refs", "internal/git/landing", "internal/git/push", "internal/redact", "internal/specdoc", "internal/specfile", "internal/text"},
		"internal/check":          {"R", "internal/lazyregexp", "internal/proc", "internal/redact", "internal/testoutput", "internal/text"},
		"internal/agent": {
			"R", "internal/lazyregexp", "internal/proc", "internal/text",
			"internal/agent/acp", "internal/agent/api", "internal/agent/claude", "internal/agent/codex", "internal/agent/execagent", "internal/agent/scripted", "internal/agent/wire",
		},
		"internal/agent/wire":      {"R", "internal/lazyregexp", "internal/proc", "internal/testoutput", "internal/text"},
		"internal/agent/claude":    {"R", "internal/agent/wire", "internal/lazyregexp", "internal/proc", "internal/text"},
		"internal/agent/codex":     {"R", "internal/agent/wire", "internal/lazyregexp", "internal/proc", "internal/text"},
		"internal/agent/acp":       {"R", "internal/agent/wire", "internal/lazyregexp", "internal/proc", "internal/text"},
		"internal/agent/api":       {"R", "internal/agent/wire", "internal/lazyregexp", "internal/model", "internal/proc", "internal/text"},
		"internal/agent/execagent": {"R", "internal/agent/wire", "internal/lazyregexp", "internal/proc", "internal/text"},
		"internal/agent/scripted":  {"R", "internal/agent/execagent", "internal/agent/wire", "internal/lazyregexp", "internal/proc", "internal/text"},
		"internal/measure":         {"internal/proc", "internal/text"},
		"internal/model":           {"internal/redact", "internal/text"},
		"internal/hook":            {"R", "internal/proc", "internal/text", "internal/eventname"},
		"internal/notify":          {"R", "internal/action", "internal/lazyregexp", "internal/notice", "internal/proc", "internal/text"},
		"internal/outbox":          {"R", "internal/follow", "internal/journal", "internal/policy/breaker", "internal/text", "internal/tracker"},
		"internal/tracker":         {"R", "internal/policy/breaker"},
		"internal/tracker/github":  {"R", "internal/tracker"},
		"internal/tracker/jira":    {"R", "internal/tracker"},
		"internal/tracker/ado":     {"R", "internal/tracker"},
		"internal/advice":          {"R", "internal/model", "internal/policy/breaker", "internal/redact", "internal/signature", "internal/text", "internal/thread"},
		"internal/follow":          {"R", "internal/journal", "internal/views"},
		"internal/agentsock":       {"R", "internal/fastpath", "internal/proc"},
		"internal/coverage":        {"R"},
		"internal/secrets":         {"R"},
		"internal/mcp":             {"R", "internal/agentsock", "internal/text"},
		"internal/shim":            {"internal/fastpath", "internal/proc", "internal/regular"},
		"internal/sandbox":         {"internal/lazyregexp", "internal/regular"},
		// what is proved of agents: drivers are run, never opened
		"internal/agentcheck": {"R", "internal/agent", "internal/proc", "internal/text"},
		"internal/engine":     {"R", "internal/policy"}, // composition
		"internal/step":       {"R", "internal/specs", "internal/agentsock", "internal/approval", "internal/livingdocs", "internal/lookup", "internal/operation", "internal/policy", "internal/policy/settings", "internal/prompt", "internal/records", "internal/redact", "internal/signature", "internal/specdoc", "internal/stream", "internal/testdiff", "internal/text", "internal/thread", "internal/regular", "internal/specfile"},
		// surfaces
		"internal/web":        {"R", "internal/action", "internal/lazyregexp", "internal/observe/past", "internal/observe/watch", "internal/report/gates", "internal/report/receipts", "internal/screen", "internal/screen/history", "internal/screen/page", "internal/sessionreport", "internal/status", "internal/text", "internal/web/api", "internal/web/asset", "internal/web/index", "internal/web/live", "internal/web/markup", "internal/web/view", "internal/specfile"},
		"internal/web/asset":  {},
		"internal/web/draw":   {},
		"internal/web/index":  {"R", "internal/follow", "internal/report", "internal/report/receipts", "internal/text", "internal/eventname"},
		"internal/web/live":   {"internal/text"},
		"internal/web/view":   {"R", "internal/action", "internal/chart", "internal/keymap", "internal/policy/rules", "internal/report", "internal/report/gates", "internal/report/receipts", "internal/screen", "internal/screen/history", "internal/screen/page", "internal/services", "internal/sessionreport", "internal/status", "internal/text", "internal/web/markup", "internal/workers"},
		"internal/web/markup": {"internal/lazyregexp", "internal/text"}, // what others wrote becomes HTML here and nowhere else
		"internal/web/guard":  {"internal/text"},
		"internal/web/api":    {"R", "internal/action", "internal/follow", "internal/observe/watch", "internal/policy", "internal/report", "internal/report/gates", "internal/report/receipts", "internal/screen", "internal/services", "internal/sessionreport", "internal/status", "internal/text", "internal/web/index", "internal/eventname"},
		// the application: what commands and pages work with
		"internal/exit":        {"internal/shim"},
		"internal/workspace":   {"R", "internal/specs", "internal/agent", "internal/config", "internal/config/setting", "internal/check", "internal/git/info", "internal/git", "internal/journal", "internal/labels", "internal/lazyregexp", "internal/policy", "internal/proc", "internal/redact", "internal/secrets", "internal/specfile", "internal/step", "internal/locate"},
		"internal/person":      {"R", "internal/agentsock", "internal/journal", "internal/proc", "internal/workspace", "internal/locate"},
		"internal/profile":     {"R", "internal/agentsock", "internal/config", "internal/proc", "internal/sandbox", "internal/step", "internal/web/guard", "internal/workspace", "internal/regular"},
		"internal/worktree":    {"R", "internal/git", "internal/git/commits", "internal/git/diff", "internal/git/refs", "internal/git/landing", "internal/git/push", "internal/git/shelve", "internal/git/worktrees", "internal/lookup", "internal/proc", "internal/report/gates", "internal/shim", "internal/step", "internal/thread"},
		"internal/recovery":    {"R", "internal/action", "internal/git/registry", "internal/git", "internal/git/commits", "internal/git/diff", "internal/git/refs", "internal/git/landing", "internal/git/worktrees", "internal/journal", "internal/proc", "internal/report", "internal/workspace", "internal/worktree"},
		"internal/whatif":      {"R", "internal/advice", "internal/approval", "internal/config", "internal/journal", "internal/policy", "internal/report", "internal/signature", "internal/text", "internal/thread", "internal/workspace", "internal/policy/replay"},
		"internal/backend":     {"R", "internal/specs", "internal/queue", "internal/action", "internal/config", "internal/config/setting", "internal/exit", "internal/journal", "internal/keymap", "internal/person", "internal/proc", "internal/recovery", "internal/report/gates", "internal/text", "internal/views", "internal/workspace", "internal/observe"},
		"internal/claudehook":  {"R", "internal/agent/claude", "internal/approval", "internal/config", "internal/exit", "internal/journal", "internal/lookup", "internal/policy", "internal/proc", "internal/step", "internal/workspace", "internal/worktree", "internal/locate"},
		"internal/trust":       {"R", "internal/config", "internal/git", "internal/git/commits", "internal/hook", "internal/proc", "internal/text", "internal/workspace"},
		"internal/verify":      {"R", "internal/git", "internal/git/commits", "internal/git/anchor", "internal/journal", "internal/policy", "internal/proc", "internal/records", "internal/report", "internal/text", "internal/workspace", "internal/policy/replay"},
		"internal/observe":     {"R", "internal/agent", "internal/git", "internal/journal", "internal/observe/wanted", "internal/proc", "internal/records", "internal/report", "internal/report/gates", "internal/report/receipts", "internal/status", "internal/step", "internal/text", "internal/workspace", "internal/worktree", "internal/policy/replay", "internal/workers"},
		"internal/screen":      {"R", "internal/action", "internal/policy", "internal/report", "internal/services", "internal/status", "internal/text"},
		"internal/screen/page": {"R", "internal/action", "internal/queue", "internal/report", "internal/report/gates", "internal/screen", "internal/services", "internal/status", "internal/text", "internal/web/draw", "internal/web/markup", "internal/workers"},
		"internal/interceptor": {"R", "internal/approval", "internal/agentsock", "internal/claudehook", "internal/config", "internal/exit", "internal/lookup", "internal/operation", "internal/policy", "internal/proc", "internal/sandbox", "internal/shim", "internal/step", "internal/workspace", "internal/worktree"},
		"internal/bootstrap":   {"R", "internal/specs", "internal/advice", "internal/agent", "internal/agentsock", "internal/approval", "internal/check", "internal/config", "internal/config/setting", "internal/coverage", "internal/forge", "internal/git", "internal/git/commits", "internal/git/diff", "internal/git/push", "internal/interceptor", "internal/livingdocs", "internal/model", "internal/notify", "internal/outgoing", "internal/policy", "internal/policy/breaker", "internal/proc", "internal/profile", "internal/redact", "internal/sandbox", "internal/secrets", "internal/shim", "internal/signature", "internal/step", "internal/text", "internal/thread", "internal/workspace", "internal/worktree", "internal/outbox", "internal/specfile", "internal/tracker", "internal/tracker/ado", "internal/tracker/github", "internal/tracker/jira"},
		"internal/doctor":      {"R", "internal/agent", "internal/agent/codex", "internal/bootstrap", "internal/config", "internal/config/setting", "internal/coverage", "internal/follow", "internal/check", "internal/git/info", "internal/git", "internal/git/commits", "internal/git/landing", "internal/git/worktrees", "internal/hook", "internal/journal", "internal/notify", "internal/policy", "internal/proc", "internal/profile", "internal/redact", "internal/report", "internal/sandbox", "internal/shim", "internal/step", "internal/text", "internal/tracker", "internal/trust", "internal/web/guard", "internal/workspace", "internal/worktree"},
		"internal/console":     {"R", "internal/action", "internal/journal", "internal/lazyregexp", "internal/observe", "internal/proc", "internal/redact", "internal/report", "internal/status", "internal/text", "internal/workspace", "internal/termtext"},
		"internal/dashboard":   {"R", "internal/backend", "internal/config", "internal/config/setting", "internal/doctor", "internal/lazyregexp", "internal/observe", "internal/person", "internal/policy", "internal/proc", "internal/records", "internal/report/gates", "internal/report/receipts", "internal/screen", "internal/step", "internal/verify", "internal/web", "internal/web/guard", "internal/web/view", "internal/workspace", "internal/specfile"},
		"internal/session":     {"R", "internal/queue", "internal/agentsock", "internal/bootstrap", "internal/console", "internal/dashboard", "internal/engine", "internal/exit", "internal/follow", "internal/forge", "internal/git/info", "internal/git/anchor", "internal/git/commits", "internal/git/landing", "internal/git/push", "internal/git/worktrees", "internal/hook", "internal/journal", "internal/notify", "internal/person", "internal/policy", "internal/proc", "internal/profile", "internal/redact", "internal/report", "internal/sandbox", "internal/status", "internal/step", "internal/text", "internal/trust", "internal/verify", "internal/web/guard", "internal/workspace", "internal/worktree", "internal/outbox", "internal/labels", "internal/locate", "internal/eventname", "internal/regular"},
		"internal/demo/hub":    {},
		"internal/demo":        {"R", "internal/action", "internal/agent/scripted", "internal/backend", "internal/demo/hub", "internal/exit", "internal/journal", "internal/person", "internal/proc", "internal/report", "internal/session", "internal/text", "internal/workspace"},

		// what surfaces with many views stand on
		"internal/screen/history": {"R", "internal/chart", "internal/report/receipts", "internal/screen", "internal/screen/page", "internal/sessionreport", "internal/status", "internal/text", "internal/web/index", "internal/eventname"},
		"internal/observe/wanted": {"R", "internal/step"},
		"internal/observe/watch":  {"R", "internal/action", "internal/screen/page", "internal/status", "internal/web/index"},
		"internal/observe/past":   {"R", "internal/observe/watch", "internal/report", "internal/report/gates", "internal/screen", "internal/screen/history", "internal/screen/page", "internal/sessionreport", "internal/text", "internal/web/index"},
	}
}

// commandLayers are what a person or a program types.
func commandLayers() map[string][]string {
	return map[string][]string{
		"internal/cli":          {"R", "internal/specs", "internal/action", "internal/backend", "internal/bootstrap", "internal/config", "internal/fleetcmd", "internal/dashboard", "internal/demo", "internal/exit", "internal/forge", "internal/journal", "internal/observe", "internal/person", "internal/proc", "internal/prompt", "internal/records", "internal/redact", "internal/report", "internal/report/gates", "internal/services", "internal/session", "internal/status", "internal/step", "internal/text", "internal/ui", "internal/ui/watch", "internal/views", "internal/web/guard", "internal/workspace", "internal/outbox", "internal/cli/flags", "internal/cli/inspect", "internal/cli/setup", "internal/cli/plumbing", "internal/cli/fleet", "internal/cli/repair", "internal/specfile"},
		"internal/cli/flags":    {"R"},
		"internal/cli/setup":    {"R", "internal/agent", "internal/agentcheck", "internal/bootstrap", "internal/cli/flags", "internal/config", "internal/config/setting", "internal/demo", "internal/doctor", "internal/exit", "internal/git", "internal/git/info", "internal/measure", "internal/notice", "internal/notify", "internal/proc", "internal/text", "internal/trust", "internal/views", "internal/workspace"},
		"internal/cli/repair":   {"R", "internal/cli/flags", "internal/git/worktrees", "internal/journal", "internal/proc", "internal/recovery", "internal/report", "internal/text", "internal/workspace"},
		"internal/cli/plumbing": {"R", "internal/agent/api", "internal/agentsock", "internal/claudehook", "internal/cli/flags", "internal/demo", "internal/exit", "internal/interceptor", "internal/mcp", "internal/sandbox", "internal/workspace"},
		"internal/cli/fleet":    {"internal/cli/flags", "internal/fleetcmd", "internal/labels", "internal/session", "internal/workers/match", "internal/workspace", "internal/action"},
		"internal/cli/inspect":  {"R", "internal/advice", "internal/bootstrap", "internal/cli/flags", "internal/config", "internal/console", "internal/exit", "internal/journal", "internal/observe", "internal/policy", "internal/policy/rules", "internal/report", "internal/report/receipts", "internal/screen", "internal/sessionreport", "internal/signature", "internal/status", "internal/termtext", "internal/text", "internal/verify", "internal/whatif", "internal/workspace", "internal/policy/replay", "internal/eventname"},
		"cmd/ralph":             {"internal/cli", "internal/early", "internal/version", "internal/workspace"},
	}
}

// gitLayers are a repository, what it stands on, and what stands on it: the packages that may
// use internal/git/access.go.
func gitLayers() map[string][]string {
	return map[string][]string{
		"internal/git":           {"R", "internal/git/coprocess", "internal/git/index", "internal/git/unchanged", "internal/lazyregexp", "internal/operation", "internal/proc", "internal/regular"},
		"internal/git/index":     {},
		"internal/git/coprocess": {"internal/proc"},
		"internal/git/unchanged": {"internal/git/index", "internal/regular"},

		"internal/git/anchor":    {"internal/git", "internal/regular"},
		"internal/git/carry":     {"internal/git", "internal/git/index", "internal/git/refs", "internal/proc"},
		"internal/git/commits":   {"R", "internal/git", "internal/git/diff", "internal/git/index", "internal/lazyregexp", "internal/regular"},
		"internal/git/diff":      {"internal/git", "internal/git/coprocess"},
		"internal/git/info":      {"internal/git"},
		"internal/git/registry":  {"internal/git", "internal/lazyregexp"},
		"internal/git/landing":   {"internal/git", "internal/git/commits", "internal/git/diff", "internal/git/info", "internal/git/registry", "internal/git/refs", "internal/lazyregexp", "internal/regular"},
		"internal/git/push":      {"internal/git", "internal/proc", "internal/regular"},
		"internal/git/refs":      {"internal/git", "internal/lazyregexp", "internal/regular"},
		"internal/git/shelve":    {"R", "internal/git", "internal/git/commits", "internal/git/diff", "internal/lazyregexp"},
		"internal/git/worktrees": {"internal/git", "internal/git/refs", "internal/git/registry", "internal/git/shelve", "internal/git/unchanged", "internal/lazyregexp", "internal/proc", "internal/regular"},
	}
}

// screenLayers are the terminal screen.
func screenLayers() map[string][]string {
	return map[string][]string{
		"internal/ui":       {"R", "internal/action", "internal/config", "internal/config/setting", "internal/keymap", "internal/observe", "internal/proc", "internal/screen", "internal/status", "internal/text", "internal/ui/draw", "internal/ui/panes", "internal/ui/tty", "internal/ui/typed", "internal/ui/watch", "internal/workspace"},
		"internal/ui/typed": {"internal/action", "internal/ui/draw"},
		"internal/ui/draw":  {"internal/action", "internal/text"},
		"internal/ui/tty":   {"internal/text"},
		"internal/ui/watch": {"R", "internal/action", "internal/backend", "internal/observe", "internal/person", "internal/status", "internal/ui/panes", "internal/workspace"},
		"internal/ui/panes": {"R", "internal/action", "internal/observe", "internal/policy", "internal/report", "internal/report/gates", "internal/report/receipts", "internal/screen", "internal/services", "internal/status", "internal/text", "internal/ui/draw", "internal/workspace", "internal/workers", "internal/regular", "internal/specfile"},
	}
}

// fleetLayers are work on other machines, which only the program ralph-fleet has.
func fleetLayers() map[string][]string {
	return map[string][]string{
		"internal/fleetcmd":    {"R", "internal/action", "internal/config", "internal/exit", "internal/labels", "internal/proc", "internal/session", "internal/text", "internal/workers", "internal/workers/match", "internal/workspace"},
		"internal/fleet":       {"R", "internal/specs", "internal/action", "internal/backend", "internal/bootstrap", "internal/fleet/base", "internal/fleet/checkout", "internal/fleet/clock", "internal/fleet/ident", "internal/fleet/lease", "internal/fleet/metrics", "internal/fleet/note", "internal/fleet/offer", "internal/fleet/place", "internal/fleet/roster", "internal/fleet/seal", "internal/fleet/tail", "internal/fleet/briefing", "internal/fleet/transport", "internal/fleetcmd", "internal/config", "internal/git/info", "internal/git", "internal/git/carry", "internal/git/push", "internal/git/worktrees", "internal/hook", "internal/journal", "internal/labels", "internal/observe/wanted", "internal/policy", "internal/proc", "internal/redact", "internal/session", "internal/step", "internal/text", "internal/workspace", "internal/workers", "internal/workers/match"},
		"internal/fleet/ident": {"R", "internal/git/push"},
		"internal/fleet/base":  {}, "internal/fleet/checkout": {"internal/git", "internal/proc"},
		"internal/fleet/clock": {}, "internal/fleet/briefing": {"R"},
		"internal/fleet/offer": {"internal/agent", "internal/config", "internal/proc", "internal/workspace"},
		"internal/fleet/place": {"R", "internal/git", "internal/workers/match"},
		"internal/fleet/lease": {}, "internal/fleet/seal": {"R"},
		"internal/fleet/roster": {"R", "internal/fleet/seal", "internal/workers", "internal/workers/match"}, "internal/fleet/transport": {"R"},
		"internal/fleet/metrics": {"R", "internal/proc"},
		"internal/fleet/note":    {"R", "internal/fleet/seal", "internal/redact", "internal/regular"},
		"internal/fleet/tail":    {"R", "internal/observe/wanted", "internal/step"},
		"cmd/ralph-fleet":        {"internal/cli", "internal/fleetcmd", "internal/fleet", "internal/version", "internal/workspace"},
	}
}

// testLayers are for tests alone: no other row may name them.
func testLayers() map[string][]string {
	return map[string][]string{
		"internal/ralphtest":            {"internal/proc"},
		"internal/ralphtest/enginetest": {"R", "internal/engine", "internal/policy"},
		"internal/ralphtest/gittest":    {"R", "internal/proc", "internal/ralphtest"},
		"internal/ralphtest/modeltest":  {}, "internal/ralphtest/collectortest": {},
		"internal/ralphtest/storytest": {"R", "internal/report", "internal/status"},
		"internal/tracker/trackertest": {"R"},
		"internal/agent/agenttest":     {"R", "internal/agent", "internal/agentcheck", "internal/ralphtest"},
	}
}

// homes are imports that have a home: only these packages may have them.
func homes() map[string][]string {
	return map[string][]string{
		"os/exec":                {"internal/proc"},
		"net/http":               {"internal/tracker", "internal/tracker/github", "internal/tracker/jira", "internal/tracker/ado", "internal/tracker/trackertest", "internal/decide", "internal/demo", "internal/demo/hub", "internal/forge", "internal/model", "internal/web", "internal/web/api", "internal/web/asset", "internal/web/guard", "internal/web/live", "internal/notify", "internal/ralphtest/modeltest", "internal/ralphtest/collectortest"},
		"github.com/spf13/cobra": {"internal/cli", "internal/cli/flags", "internal/cli/inspect", "internal/cli/setup", "internal/cli/plumbing", "internal/cli/fleet", "internal/cli/repair"},

		"github.com/coder/acp-go-sdk": {"internal/agent/acp"},

		"github.com/go-json-experiment/json/jsontext": {"internal/agent/wire"},

		"github.com/modelcontextprotocol/go-sdk/mcp": {"internal/mcp"},

		"github.com/google/go-github/v92/github": {"internal/tracker/github"},
	}
}

// isPure reports whether the file must give the same answer for the same
// arguments, always: replay, and any host of the loop, depend on it.
func isPure(f *file) bool {
	pure := []string{"R", "internal/approval", "internal/eventname", "internal/operation", "internal/policy", "internal/policy/breaker", "internal/policy/replay", "internal/policy/rules", "internal/queue", "internal/prompt", "internal/report", "internal/report/gates", "internal/report/receipts", "internal/signature", "internal/stream", "internal/testoutput", "internal/thread", "internal/text", "internal/engine"}
	return !f.test && slices.Contains(pure, f.pkg) && f.name != "internal/engine/local.go"
}

// file is one Go file of ours, also those for other systems and behind tags.
type file struct {
	pkg  string // as in layers
	name string // relative to the repository
	test bool
	fset *token.FileSet
	ast  *ast.File
}

// at writes a finding: the place, the rule that is broken, what to do.
func (f *file) at(n ast.Node, rule, do string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s: %s", f.name, f.fset.Position(n.Pos()).Line, rule, fmt.Sprintf(do, args...))
}

// of ralph-tui only patterns are taken.
func TestNothingOfRalphTUI(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"go.mod", "go.sum"} {
		b, err := os.ReadFile(name)
		if err != nil || bytes.Contains(b, []byte("ralph-tui")) {
			t.Errorf("%s: %v, or it names ralph-tui", name, err)
		}
	}
}

// TestLayering holds the table of imports against the packages that are there: each can be
// built and tested without those above and beside it (A-034, C-013).
func TestLayering(t *testing.T) {
	t.Parallel()
	files := ourFiles(t)
	report(t, rows(files, layers()))
	for _, f := range files {
		report(t, imports(f, layers(), homes()))
	}
}

// Only internal/fleet knows Temporal: the SDK would make every start of ralph later, shims too.
func TestOnlyTheFleetKnowsTemporal(t *testing.T) {
	t.Parallel()
	for _, f := range ourFiles(t) {
		for _, spec := range f.ast.Imports {
			switch path := strings.Trim(spec.Path.Value, `"`); {
			case strings.HasPrefix(path, "go.temporal.io/") && f.pkg != "internal/fleet":
				t.Error(f.at(spec, "imports "+path, "only internal/fleet may"))
			case path == module+"/internal/fleet" && f.pkg != "cmd/ralph-fleet" && f.pkg != "internal/fleet":
				t.Error(f.at(spec, "imports "+path, "only cmd/ralph-fleet may: ralph becomes that program"))
			}
		}
	}
}

// TestHouseLaw holds every file against the rules of CONTRIBUTING.md.
func TestHouseLaw(t *testing.T) {
	t.Parallel()
	files := slices.DeleteFunc(ourFiles(t), func(f *file) bool { return ast.IsGenerated(f.ast) }) // what templ makes of *.templ
	report(t, packageComments(files))
	for _, f := range files {
		report(t, slices.Concat(sizes(f), globals(f), names(f), interfaces(f)))
	}
}

// TestPure looks for clocks, chance, goroutines and map order where every answer
// must come from the arguments alone.
func TestPure(t *testing.T) {
	t.Parallel()
	lookup := exports(t)
	byPkg := map[string][]*file{}
	for _, f := range ourFiles(t) {
		if isPure(f) || f.name == "internal/engine/local.go" { // the type checker wants whole packages
			byPkg[f.pkg] = append(byPkg[f.pkg], f)
		}
	}
	if len(byPkg) != 19 {
		t.Fatalf("found %d pure packages, want 19: see isPure", len(byPkg))
	}
	for pkg, files := range byPkg {
		info, err := typesOf(pkg, files, lookup)
		if err != nil {
			t.Fatalf("type-check %s: %v", pkg, err)
		}
		for _, f := range files {
			if isPure(f) {
				report(t, impure(f, info))
			}
		}
	}
}

// TestNoPathOfThisMachine looks for this checkout's path, and the home of whoever
// runs the tests, in everything people read or build.
func TestNoPathOfThisMachine(t *testing.T) {
	t.Parallel()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	home, _ := os.UserHomeDir()
	short := root
	if strings.Count(root, "/") < 2 {
		short = "" // a checkout in /repo: too many files speak of such a path by chance
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "build") {
				return fs.SkipDir // testdata holds recordings from elsewhere
			}
			return err
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a test's own file, gone meanwhile
		}
		name, _ := filepath.Rel(root, path)
		report(t, machinePaths(name, string(text), short, home))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func report(t *testing.T, findings []string) {
	t.Helper()
	for _, f := range findings {
		t.Error(f)
	}
}

// ourFiles are the Go files of the module. Many tests read them, and none changes them.
func ourFiles(t *testing.T) []*file {
	t.Helper()
	files, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(files)
}

// parsed parses every Go file of the module, whatever its build tags, once for all tests.
var parsed = sync.OnceValues(func() ([]*file, error) {
	fset := token.NewFileSet()
	var out []*file
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") || d.IsDir() && d.Name() == "testdata":
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil // the go command does not see them either
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		pkg, _ := ourPackage(path.Join(module, path.Dir(name)))
		f, err := parsedFile(fset, pkg, name, string(text))
		out = append(out, f)
		return err
	})
	if err == nil && len(out) == 0 {
		err = errors.New("there are no files here: the rules would hold for nothing")
	}
	return out, err
})

func parsedFile(fset *token.FileSet, pkg, name, text string) (*file, error) {
	f := &file{pkg: pkg, name: name, test: strings.HasSuffix(name, "_test.go"), fset: fset}
	var err error
	f.ast, err = parser.ParseFile(f.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	return f, err
}

// exports finds compiled packages for the type checker.
func exports(t *testing.T) func(string) (io.ReadCloser, error) {
	t.Helper()
	list := goList(t, "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}",
		".", "./internal/operation", "./internal/policy", "./internal/policy/replay", "./internal/prompt", "./internal/report", "./internal/report/gates", "./internal/report/receipts", "./internal/signature", "./internal/testoutput", "./internal/thread", "./internal/engine", "maps", "slices", "time")
	where := map[string]string{}
	for line := range strings.Lines(string(list)) {
		path, export, _ := strings.Cut(strings.TrimSpace(line), "\t")
		where[path] = export
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(where[path]) }
}

// typesOf checks one package.
func typesOf(pkg string, files []*file, lookup func(string) (io.ReadCloser, error)) (*types.Info, error) {
	fset := files[0].fset
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	var asts []*ast.File
	for _, f := range files {
		asts = append(asts, f.ast)
	}
	_, err := conf.Check(pkg, fset, asts, info)
	return info, err
}

func goList(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return out
}
