package operation

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

var (
	refsPath     = lazyregexp.New(`(?i)git/+refs?\b|/refs/heads|repository/(branches|tags)|/branches/|/git/refs|refs%2fheads`)
	releasesPath = lazyregexp.New(`(?i)(repos|projects)/[^ ]*/releases(\b|$)`)
	forgeShips   = lazyregexp.New(`(?i)(release|publish)[\w-]*\.ya?ml`)
	graphPush    = lazyregexp.New(`(?i)\b(updateRefs?|deleteRef|deleteRepository|mergeBranch)\b`)
	forgeHost    = lazyregexp.New(`(?i)api\.github\.com|/api/v[0-9]+|gitlab|gitea|codeberg|bitbucket|repos/`)
)

// forge judges what is told to a forge, or to any server by hand: references and repositories
// are changed there without git.
func (k *analysis) forge(name string, ws []word, in *source) bool {
	switch name {
	case "gh", "glab", "hub", "tea":
	case "curl", "wget", "http", "https", "xh", "httpie", "curlie", "invoke-restmethod", "invoke-webrequest":
		k.fetched(name, ws, in)
		k.request(ws)
		return true
	default:
		return false
	}
	if len(ws) > 1 && ws[1].any() {
		k.unknown("what it does is hidden in a variable or a substitution", ws)
		return true
	}
	_, operands := arguments0(ws, " -R --repo -H --hostname -X --method -f -F --field --raw-field --input --jq -q ")
	verb, sub := "", ""
	if len(operands) > 0 {
		verb = strings.ToLower(operands[0].text)
	}
	if len(operands) > 1 {
		sub = strings.ToLower(operands[1].text)
	}
	switch {
	case verb == "api":
		k.request(ws)
	case verb == "repo" && (sub == "delete" || sub == "archive" || sub == "rename" || sub == "transfer"), verb == "project" && sub == "delete":
		k.never(pushForce, ws)
	case verb == "repo" && sub == "sync" && given(ws[2:], "--force"):
		k.never(pushForce, ws)
	case verb == "release" && slices.Contains([]string{"create", "upload", "edit", "delete", "delete-asset"}, sub):
		if sub == "create" && given(ws[2:], "--draft -d") {
			return true
		}
		if sub == "delete" {
			k.never(pushForce, ws)
			return true
		}
		k.never(npmPublish, ws)
	case slices.Contains([]string{"delete", "delete-asset", "remove-all"}, sub) && !slices.Contains([]string{"alias", "config", "extension"}, verb), verb == "repo" && sub == "edit" && given(ws[2:], "--visibility"):
		k.unknown("what it takes away on the forge does not come back", ws)
	case verb == "workflow" && (sub == "run"), verb == "run" && sub == "rerun", verb == "ci" && (sub == "run" || sub == "trigger"):
		if slices.ContainsFunc(ws[2:], func(w word) bool {
			return deployWord(w) || deploysTo(w) || slices.Contains(tokens(w), "release") || slices.Contains(tokens(w), "publish")
		}) {
			k.never(productionDeploy, ws)
		}
	case (name == "gh" || name == "glab") && verb == "alias" && sub == "set":
		k.certain(plain("gh " + joined(ws[min(len(ws), 4):]) + " "))
	case name == "hub" && (verb == "push" || verb == "sync" && given(ws, "--force")), name == "hub" && verb == "delete":
		if verb == "push" {
			k.push("push", ws[1:], ws)
		} else {
			k.never(pushForce, ws)
		}
	case name == "hub" && verb == "release" && sub == "create":
		k.never(npmPublish, ws)
	case name == "gh" && verb == "pr" && sub == "merge" && given(ws, "--delete-branch -d"):
	case (verb == "secret" || verb == "variable") && sub == "set":
	case name == "hub":
		k.git("git", append([]word{plain("git")}, ws[1:]...), in)
	}
	return true
}

// request judges a call of an API: one that writes references of a repository, deletes it, deletes
// or replaces what another machine has, or has it deploy.
func (k *analysis) request(ws []word) {
	text := joined(ws)
	method, writes := methodOf(ws)
	deletes, changes := method == "DELETE", method == "DELETE" || method == "PUT" || method == "PATCH" || strings.Contains(method, hole)
	ofForge := slices.Contains([]string{"gh", "glab"}, base(ws[0]))
	switch {
	case graphPush.MatchString(text) && writes:
		k.never(pushForce, ws)
	case writes && releasesPath.MatchString(text) && forgeHost.MatchString(text):
		k.never(npmPublish, ws)
	case writes && strings.Contains(text, "/dispatches") && (slices.ContainsFunc(ws, deployWord) || deploysTo(plain(text)) || forgeShips.MatchString(text)):
		k.never(productionDeploy, ws)
	case refsPath.MatchString(text) && changes && (forgeHost.MatchString(text) || ofForge):
		k.never(pushForce, ws)
	case deletes && forgeRe0.MatchString(text+" ") && forgeHost.MatchString(text):
		k.never(pushForce, ws)
	case writes && deploysTo(plain(strings.Join(tokens(plain(text)), " "))) && deletes, writes && slices.ContainsFunc(ws, deployWord) && slices.ContainsFunc(ws, deploysTo):
		k.never(productionDeploy, ws)
	case deletes && forgeRe1.MatchString(text):
		k.never(dropDatabase, ws)
	case isLoopback(ws) && !strings.Contains(text, "DROP "), dryRun(ws):
	case slices.ContainsFunc(ws[1:], func(w word) bool {
		return strings.HasPrefix(w.text, "@"+home) || strings.HasPrefix(w.text, "--post-file")
	}):
		k.unknown("it sends a file to another machine", ws)
	case deletes, changes && !ofForge && !hiddenHost.MatchString(text):
		k.unknown("what it changes on another machine may not come back", ws)
	case writes && !hiddenHost.MatchString(text) && !coverage.MatchString(text) && slices.ContainsFunc(ws[1:], func(w word) bool { return callsHook.MatchString(w.String()) || mutates.MatchString(w.String()) }):
		k.unknown("what it calls may deploy or publish", ws)
	}
}

// methodOf is the method of a call of HTTP, and whether it is one that changes something.
func methodOf(ws []word) (method string, writes bool) {
	for i, w := range ws[1:] {
		before, key, value := strings.ToLower(ws[i].text), "", ""
		if key, value, _ = strings.Cut(strings.ToLower(w.text), "="); value == "" && strings.HasPrefix(key, "-x") && len(key) > 2 {
			key, value = "-x", key[2:]
		}
		switch {
		case before == "-x" && ws[i].text == "-X" || slices.Contains([]string{"--request", "--method", "-method"}, before):
			method = strings.ToUpper(w.text)
		case (key == "-x" && strings.HasPrefix(w.text, "-X") || key == "--request" || key == "--method") && value != "":
			method = strings.ToUpper(value)
		case i < 3 && slices.Contains([]string{"delete", "put", "patch", "post"}, key) && slices.Contains([]string{"http", "https", "xh", "xhs", "httpie", "curlie"}, base(ws[0])):
			method = strings.ToUpper(key)
		case w.text == "-T" || key == "--upload-file" || key == "--body-file" && method == "":
			method = "PUT"
		case slices.Contains([]string{"-d", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--json", "-f", "--form", "--field", "--raw-field", "--input", "--post-data", "--post-file", "--body-data", "-body"}, key) && w.text != "-f" || w.text == "-f" && strings.HasPrefix(base(ws[0]), "g"):
			writes = true
		}
	}
	return strings.ReplaceAll(method, "$?", hole), writes || method != "" && method != "GET" && method != "HEAD" && method != "OPTIONS"
}

var (
	hiddenHost = lazyregexp.New(`(^|\s)(https?://)?\$\?`) // as in "$BASE_URL/x"
	coverage   = lazyregexp.New(`(?i)codecov\.io|coveralls\.io|codeclimate\.com`)
)

// mutates are words to an API by which something is taken away.
var mutates = lazyregexp.New(`(?i)mutation\b.*\b(delete|remove|destroy|drop|purge|reset)|^q=drop\s`)

// callsHook are addresses at which something is deployed, published or started.
var callsHook = lazyregexp.New(`(?i)://[^\s]*(deploy|build_hooks|webhooks?/|/hooks?/|hooks\.|/publish|/releases?(/|$|\?)|/upload|/dispatches|/trigger|/promote|/rollback|/builds?$|/pipelines?(/|$|\?)|/purge|/restart|/reboot|/shutdown|/terminate|/destroy|\w*delete|\w*remove|\w*restart|/stop|/wipe|/reset|registry|/packages?(/|$)|pypi|/merge$|flush|drop)`)

// Parts of what is looked for above.
var (
	forgeRe0 = lazyregexp.New(`(?i)(repos|projects)/[^/ ]+(/|%2F)?[^/ ]*/?(["' ?]|$)`)
	forgeRe1 = lazyregexp.New(`(?i):9200/|/_all\b|elastic`)
)
