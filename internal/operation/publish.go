package operation

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// published judges npm and its kin, which take their commands cut short, and any other program
// by its verbs.
func (k *analysis) published(name string, ws []word) bool {
	if !slices.Contains(strings.Fields("npm npm-cli.js pnpm yarn yarnpkg bun cnpm tnpm npm.js yarn.js pnpm.cjs ied"), name) {
		return k.verb(name, ws)
	}
	if dryRun(ws) || len(ws) < 3 && given(ws, "--help --version") || slices.ContainsFunc(ws, func(w word) bool { return w.text == "--snapshot" }) {
		return true
	}
	_, operands := arguments0(ws, " -w --workspace --tag --registry --access --otp --prefix -C --cwd --dir --filter -F --loglevel -p --projects --scope --index --repository --token -t -f --file -k --api-key --source -s --manifest-path --features --package ")
	verb, sub := "", ""
	if len(operands) > 0 {
		verb = operands[0].lower()
	}
	if len(operands) > 1 {
		sub = operands[1].lower()
	}
	k.nodePublished(name, ws, operands, verb, sub)
	return true
}

// nodePublished judges npm and its kin, and what they run from the project by name.
func (k *analysis) nodePublished(name string, ws, operands []word, verb, sub string) {
	if len(ws) < 2 {
		return
	}
	if slices.Contains([]string{"help", "search", "view", "info", "show", "docs", "install", "i", "add", "ci", "ls", "list", "test", "t", "explain", "outdated", "audit", "cache", "config", "init", "link", "update", "up", "remove", "uninstall", "why", "pack", "version", "prune", "dedupe", "rebuild", "root", "bin", "prefix", "whoami", "doctor", "fund", "create", "store", "fetch", "import", "patch", "set", "get", "upgrade", "global", "x-install"}, verb) {
		return
	}
	for i, w := range operands {
		t := w.lower()
		if i == 0 || operands[i-1].text == "npm" || i == 1 && (verb == "npm" || verb == "workspace" || verb == "workspaces" || verb == "foreach" || verb == "recursive" || verb == "multi") || i == 2 && (verb == "workspace" || verb == "workspaces") || i > 0 && slices.ContainsFunc(ws, func(w word) bool { return w.text == "foreach" }) {
			if strings.HasPrefix(t, "pu") && shortened(t, "publish") || t == "publish" || strings.HasPrefix(t, "unp") && shortened(t, "unpublish") {
				k.never(npmPublish, ws)
				return
			}
		}
	}
	if verb == "set-script" || verb == "pkg" || verb == "config" || verb == "set" {
		for _, w := range operands[1:] {
			_, value, _ := strings.Cut(w.text, "=")
			k.certain(plain(w.text + " "))
			k.certain(plain(value + " "))
		}
	}
	switch verb {
	case "dist-tag", "dist-tags", "tag":
		if sub == "add" || sub == "rm" || sub == "set" || sub == "a" || sub == "remove" || len(operands) > 2 && (operands[2].lower() == "add" || operands[2].lower() == "rm") {
			k.never(npmPublish, ws)
		}
		return
	case "deprecate", "owner", "access", "team", "org", "hook", "star":
		if verb == "deprecate" || sub == "add" || sub == "rm" || sub == "set" || sub == "grant" || sub == "revoke" || sub == "public" || sub == "restricted" {
			k.never(npmPublish, ws)
		}
		return
	case "exec", "x", "dlx", "npm", "plugin", "create-x":
		k.shellOption(name, ws)
		at := slices.IndexFunc(ws, func(w word) bool { return w.lower() == verb })
		for i := at + 1; i > 0 && i < len(ws); i++ {
			if strings.HasPrefix(ws[i].text, "-") || !hiddenName(ws[i]) && (ws[i].text == "tag") {
				if ws[i].text == "tag" && i+1 < len(ws) && (ws[i+1].text == "add" || ws[i+1].text == "remove") {
					k.never(npmPublish, ws)
					return
				}
				continue
			}
			k.program(ws[i:], nil)
			return
		}
		return
	}
	if len(operands) > 0 && operands[0].any() && operands[0].text == hole || len(ws) > 1 && ws[1].many && ws[1].text == hole {
		k.unknown("what it does is hidden in a variable or a substitution", ws)
		return
	}
	script := verb
	if verb == "run" || verb == "run-script" || verb == "rum" || verb == "workspace" || verb == "workspaces" {
		if script = sub; verb == "workspace" && len(operands) > 2 {
			script = operands[2].lower()
			if script == "run" && len(operands) > 3 {
				script = operands[3].lower()
			}
		}
	}
	if k.task(name, ws) {
		return
	}
	switch targetOf(name, plain(script)) {
	case sensePublishes:
		k.never(npmPublish, ws)
		return
	case senseDeletes:
		if !local(ws) {
			k.unknown("what it takes away may not come back", ws)
		}
	}
	if verb == script && !hiddenName(plain(script)) && name != "npm" { // yarn semantic-release
		if at := slices.IndexFunc(ws, func(w word) bool { return w.lower() == script }); at > 0 && len(operands) > 0 && senses()[script] == noSense {
			k.program(ws[at:], nil)
		}
	}
	k.migrates(script, append([]word{plain(name)}, operands...))
}

var resets = lazyregexp.New(`(?i)^(?:doctrine:|ecto\.)?(db|database|ecto|migrate|migration|schema|prisma|typeorm|sequelize|supabase|knex)[:.-](drop|reset|wipe|fresh|purge|truncate|nuke|clear|undo:all|drop:all|reset:force|destroy|rollback:all|migrate:reset|migrate:undo:all|schema:drop)(:\w+)?$|^(drop|reset|wipe|nuke|purge|truncate)[-_:](db|database|schema|data)(:\w+)?$`)

// migrates judges the programs that look after a schema: those of their words that make the
// database empty.
func (k *analysis) migrates(name string, ws []word) bool {
	_, operands := arguments0(ws, " -e --env --environment -d --database -c --config -f --file -u --url -p --path --source ")
	has := func(list ...string) bool {
		return slices.ContainsFunc(operands, func(w word) bool { return slices.Contains(list, w.lower()) })
	}
	hit := resets.MatchString(name)
	for i, w := range operands {
		if i+1 < len(operands) && i < 3 { // db drop
			hit = hit || resets.MatchString(w.text+":"+operands[i+1].text)
		}
		if i < 4 && resets.MatchString(w.text) && !strings.HasSuffix(w.lower(), ":test") {
			hit = true
		}
	}
	switch name {
	case "prisma":
		hit = hit || has("push") && given(ws, "--force-reset --accept-data-loss")
	case "migrate":
		hit = hit || has("down") && (given(ws, "-all") || has("all"))
	case "goose", "sqitch":
		hit = hit || has("down-to", "revert", "reset")
	case "flyway", "atlas":
		hit = hit || has("clean")
	case "alembic", "flask":
		hit = hit || has("downgrade") && has("base")
	case "knex":
		hit = hit || has("migrate:rollback") && given(ws, "--all")
	case "drizzle-kit":
		hit = hit || has("push") && given(ws, "--force")
	case "manage.py", "django-admin":
		hit = hit || has("flush", "reset_db", "sqlflush", "reset_schema") && !has("test") || has("migrate") && has("zero")
	}
	if !hit {
		return false
	}
	if k.forTests() {
		return true
	}
	if testNamed(ws[1:]) || slices.ContainsFunc(ws, func(w word) bool { return w.text == "--env=testing" || w.text == "--env=test" }) || dryRun(ws) {
		return true
	}
	k.never(dropDatabase, ws)
	return true
}

// forTests reports whether a variable says that what is done is done for tests.
func (k *analysis) forTests() bool {
	return slices.ContainsFunc([]string{"RAILS_ENV", "MIX_ENV", "APP_ENV", "NODE_ENV", "RACK_ENV", "FLASK_ENV", "DJANGO_SETTINGS_MODULE", "DATABASE_URL", "ENV"}, func(n string) bool {
		v, ok := k.s.vars[n]
		return ok && testNamed(v) && !v[0].holes()
	})
}

// shapes are forms that no program is harmless with, also one that got another name.
func (k *analysis) shapes(name string, ws []word) {
	if isLocal(name, ws) || isFileProgram(name) || slices.Contains([]string{"docker", "podman", "kubectl", "gh", "glab", "ssh", "git"}, name) || strings.HasPrefix(name, "git-") {
		return
	}
	rf := slices.ContainsFunc(ws[1:], func(w word) bool {
		t := w.lower()
		return strings.HasPrefix(t, "-") && !strings.HasPrefix(t, "--") && len(t) < 7 && strings.Contains(t, "r") && strings.Contains(t, "f")
	})
	for _, w := range ws[1:] {
		if !rf || strings.HasPrefix(w.text, "-") || w.holes() {
			continue
		}
		switch k.target(w) {
		case wholeRoot:
			k.never(rmRoot, ws)
		case wholeHome:
			k.never(rmHome, ws)
		}
	}
	if i := slices.IndexFunc(ws, func(w word) bool { return w.lower() == "push" }); i > 0 && i+1 < len(ws) && forces(ws[i:]) && (slices.ContainsFunc(ws[:i], func(w word) bool { return strings.HasPrefix(base(w), "git") }) || len(ws) < 6 && !isKnown(name)) {
		k.never(pushForce, ws)
	}
	if dropSQL(joined(ws)) && name != "git" && !k.forTests() {
		k.never(dropDatabase, ws)
	}
}
