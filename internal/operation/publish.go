package operation

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// published judges npm and its kin, which take their commands cut short, and any other program
// by its verbs.
func (k *look) published(name string, ws []word) bool {
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
func (k *look) nodePublished(name string, ws, operands []word, verb, sub string) {
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
		if at := slices.IndexFunc(ws, func(w word) bool { return w.lower() == script }); at > 0 && len(operands) > 0 {
			k.program(ws[at:], nil)
		}
	}
	k.migrates(script, append([]word{plain(name)}, operands...))
}

var (
	resets     = lazyregexp.New(`(?i)^(db|database|ecto|migrate|migration|schema|prisma|typeorm|sequelize|supabase|knex)[:.-](drop|reset|wipe|fresh|purge|truncate|nuke|clear|undo:all|drop:all|reset:force|destroy|rollback:all|migrate:reset|migrate:undo:all|schema:drop)(:\w+)?$|^(drop|reset|wipe|nuke|purge|truncate)[-_:](db|database|schema|data)(:\w+)?$`)
	wipeTokens = lazyregexp.New(`(?i)^(drop|reset|wipe|fresh|flush|destroy|nuke|rollback-all|dropall|drop-all|rollbackall|wipedb|schema:drop|drop-database|purge|clean|downgrade-base|force-reset|obliterate)$`)
)

// migrates judges the programs that look after a schema: those of their words that make the
// database empty.
func (k *look) migrates(name string, ws []word) bool {
	_, operands := arguments0(ws, " -e --env --environment -d --database -c --config -f --file -u --url -p --path --source ")
	has := func(list ...string) bool {
		return slices.ContainsFunc(operands, func(w word) bool { return slices.Contains(list, w.lower()) })
	}
	hit := false
	for i, w := range operands {
		if i < 4 && resets.MatchString(w.text) && !strings.HasSuffix(w.lower(), ":test") {
			hit = true
		}
	}
	hit = hit || resets.MatchString(name)
	switch name {
	case "prisma":
		hit = hit || has("migrate") && has("reset") || has("push") && given(ws, "--force-reset --accept-data-loss") || has("db") && has("drop")
		if has("execute") {
			return hit
		}
	case "sqlx", "diesel", "sea-orm-cli", "sea", "dbmate", "goose", "migrate", "flyway", "liquibase", "alembic", "knex", "sequelize", "sequelize-cli", "typeorm", "drizzle-kit", "mikro-orm", "artisan", "hasura", "supabase", "atlas", "ecto", "node-pg-migrate", "db-migrate", "flask", "rails", "mongo-migrate", "doctrine", "console", "bin/console", "orator", "phinx", "bytebase", "edgedb", "gel", "piccolo", "aerich", "tern", "soda", "buffalo", "dotnet", "dotnet-ef", "ef", "encore", "keystone", "strapi", "redwood", "rw", "blitz", "wasp", "convex", "payload", "medusa", "sqitch", "rake", "mix", "manage.py", "django-admin", "symfony", "php":
		wipe := slices.ContainsFunc(operands, func(w word) bool { return wipeTokens.MatchString(w.text) })
		switch name {
		case "migrate":
			hit = hit || has("drop") || has("down") && (given(ws, "-all") || has("all"))
		case "diesel", "sqlx", "dbmate", "supabase", "sea-orm-cli", "atlas", "hasura", "piccolo", "aerich", "doctrine", "edgedb", "gel", "buffalo", "soda", "redwood", "rw", "blitz", "wasp", "keystone", "encore":
			hit = hit || wipe && !(name == "atlas" && has("lint", "diff")) || has("database:wipe")
		case "goose":
			hit = hit || has("reset", "down-to")
		case "flyway":
			hit = hit || has("clean")
		case "liquibase":
			hit = hit || has("drop-all", "dropall", "rollback-count-x")
		case "alembic", "flask":
			hit = hit || has("downgrade") && has("base")
		case "artisan":
			hit = hit || has("migrate:fresh", "migrate:reset", "db:wipe", "migrate:refresh")
		case "typeorm", "mikro-orm":
			hit = hit || has("schema:drop", "schema:fresh", "database:drop", "migration:fresh")
		case "sequelize", "sequelize-cli":
			hit = hit || has("db:drop", "db:migrate:undo:all")
		case "knex":
			hit = hit || has("migrate:rollback") && given(ws, "--all")
		case "drizzle-kit":
			hit = hit || has("drop") || has("push") && given(ws, "--force")
		case "dotnet", "dotnet-ef", "ef":
			hit = hit || has("database") && has("drop")
		case "mix", "ecto":
			hit = hit || has("ecto.drop", "ecto.reset")
		case "manage.py", "django-admin":
			hit = hit || has("flush", "reset_db", "sqlflush", "reset_schema") && !has("test") || has("migrate") && has("zero")
		case "console", "bin/console", "symfony":
			hit = hit || has("doctrine:database:drop", "doctrine:schema:drop", "d:d:d", "d:s:d")
		case "sqitch":
			hit = hit || has("revert")
		case "rails", "rake":
			hit = hit || has("db:drop", "db:drop:all", "db:reset", "db:schema:load-x", "db:purge", "db:migrate:reset", "db:truncate_all", "db:seed:replant")
		}
	case "python", "python3":
		return false
	}
	if name == "php" || name == "symfony" {
		hit = hit || has("migrate:fresh", "migrate:reset", "db:wipe", "migrate:refresh", "doctrine:database:drop", "doctrine:schema:drop")
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
func (k *look) forTests() bool {
	return slices.ContainsFunc([]string{"RAILS_ENV", "MIX_ENV", "APP_ENV", "NODE_ENV", "RACK_ENV", "FLASK_ENV", "DJANGO_SETTINGS_MODULE", "DATABASE_URL", "ENV"}, func(n string) bool {
		v, ok := k.s.vars[n]
		return ok && testNamed(v) && !v[0].holes()
	})
}

// shapes are forms that no program is harmless with, also one that got another name.
func (k *look) shapes(name string, ws []word) {
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
	if dropSQL(joined(ws)) && name != "git" {
		k.never(dropDatabase, ws)
	}
}
