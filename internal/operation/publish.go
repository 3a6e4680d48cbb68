package operation

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// publishers are the programs that publish packages, with the words that do.
func publishers(name string) (does string, ok bool) {
	switch name {
	case "npm", "npm-cli.js", "pnpm", "yarn", "yarnpkg", "bun", "cnpm", "tnpm", "npm.js", "yarn.js", "pnpm.cjs", "ied":
		return "publish unpublish dist-tag deprecate", true
	case "lerna", "changeset", "changesets", "rush", "wsrun", "beachball", "auto", "shipjs", "bumpp":
		return "publish release shipit", true
	case "np", "release-it", "semantic-release", "standard-version-publish", "goreleaser", "release-plz", "jreleaser", "cargo-release", "multi-semantic-release", "publish-please", "clean-publish", "pkg-pr-new", "can-npm-publish-x", "auto-release", "gh-release", "ghr", "vsce", "ovsx", "web-ext", "chrome-webstore-upload", "twine", "flit", "poetry", "hatch", "pdm", "uv", "maturin", "python-semantic-release", "setup.py", "cargo", "gem", "rake", "mvn", "mvnw", "gradle", "gradlew", "sbt", "lein", "clj", "mill", "nuget", "dotnet", "paket", "pod", "swift", "helm", "oras", "skopeo", "crane", "buildah", "ko", "cosign", "nx", "jsr", "deno", "dart", "flutter", "pub", "mix", "stack", "cabal", "cpan-upload", "luarocks", "composer", "conda", "anaconda", "snapcraft", "flatpak", "choco", "winget", "scoop", "brew", "opam", "dune-release", "nimble", "zef", "fez", "elm", "elm-publish", "spago", "rebar3", "vpm", "apm", "tfx", "kaggle", "huggingface-cli", "hf", "modal", "charmcraft", "operator-sdk", "terraform-registry", "buf", "bit", "docker-pushrm", "ansible-galaxy", "puppet-module", "pdk", "berks", "knife-supermarket", "crates", "jitpack", "gox-publish", "semantic-release-cli", "cocoapods", "pip-publish", "matrix-publish", "conan", "vcpkg-publish", "bazel-publish", "ghcr", "imgpkg", "aptly", "reprepro", "dput", "copr-cli", "fedpkg", "rpmbuild-publish", "mike", "mkdocs", "gh-pages", "wrangler-publish", "typedoc-publish", "publint-x", "jsrepo", "tsci", "expo-publish", "balena":
		return "", true
	}
	return "", false
}

// published judges the programs that publish packages; npm takes its commands cut short.
func (k *look) published(name string, ws []word) bool {
	does, ok := publishers(name)
	if !ok {
		return false
	}
	if dryRun(ws) || len(ws) < 3 && given(ws, "--help --version") || slices.ContainsFunc(ws, func(w word) bool { return w.text == "--snapshot" }) {
		return true
	}
	if name == "cargo" && len(ws) > 1 && strings.HasPrefix(ws[1].text, "+") { // its toolchain
		ws = append([]word{ws[0]}, ws[2:]...)
	}
	_, operands := arguments0(ws, " -w --workspace --tag --registry --access --otp --prefix -C --cwd --dir --filter -F --loglevel -p --projects --scope --index --repository --token -t -f --file -k --api-key --source -s --manifest-path --features --package ")
	verb, sub := "", ""
	if len(operands) > 0 {
		verb = operands[0].lower()
	}
	if len(operands) > 1 {
		sub = operands[1].lower()
	}
	if does == "publish unpublish dist-tag deprecate" {
		k.nodePublished(name, ws, operands, verb, sub)
		return true
	}
	if does != "" {
		if slices.ContainsFunc(operands, func(w word) bool { return slices.Contains(strings.Fields(does), w.lower()) }) {
			k.never(npmPublish, ws)
		}
		return true
	}
	hit, known := toolPublished(name, call{verb, sub, ws, operands})
	if hit {
		k.never(npmPublish, ws)
	}
	return known
}

// call is a command taken apart: its first words that are no options, all of its words, and
// those that are no options.
type call struct {
	verb, sub    string
	ws, operands []word
}

func (c call) is(list ...string) bool { return slices.Contains(list, c.verb) }

func (c call) anyWord(list ...string) bool {
	return slices.ContainsFunc(c.ws[1:], func(w word) bool { return slices.Contains(list, w.lower()) })
}

// task reports whether one of the operands is the name of a task.
func (c call) task(names *lazyregexp.Regexp) bool {
	return slices.ContainsFunc(c.operands, func(w word) bool { return names.MatchString(w.lower()) })
}

// toolPublished judges programs that are made to publish, or have one word for it.
func toolPublished(name string, c call) (hit, known bool) {
	is, anyWord, task := c.is, c.anyWord, c.task
	verb, sub, ws, operands := c.verb, c.sub, c.ws, c.operands
	switch name {
	case "np", "release-it", "semantic-release", "multi-semantic-release", "python-semantic-release", "publish-please", "clean-publish", "auto-release", "ghr", "dput", "gh-pages", "elm-publish":
		hit = !is("version", "changelog", "print-version", "generate-config") && !anyWord("--no-publish", "--noop", "--print", "--no-push", "--ci=false-x", "--release-version", "--changelog", "--no-npm.publish")
		if name == "np" && anyWord("--preview") {
			hit = false
		}
	case "goreleaser", "jreleaser", "release-plz":
		hit = is("release", "full-release", "publish", "announce", "continue", "upload", "deploy") && !anyWord("--skip=publish", "--skip-publish", "--snapshot", "--auto-snapshot-x") && !slices.ContainsFunc(ws, func(w word) bool {
			return strings.HasPrefix(w.text, "--skip") && strings.Contains(w.text, "publish")
		})
		if name == "goreleaser" && verb == "" && len(operands) == 0 && len(ws) == 1 {
			hit = true
		}
	case "cargo":
		hit = is("publish", "yank", "release", "owner") && (verb != "release" || anyWord("--execute", "-x")) && (verb != "owner" || anyWord("--add", "--remove", "-a", "-r")) || is("smart-release", "workspaces") && (sub == "publish" || anyWord("--execute")) || is("dist") && sub == "publish"
	case "cargo-release":
		hit = anyWord("--execute", "-x")
	case "gem":
		hit = is("push", "yank", "owner") && !(verb == "owner" && sub != "" && len(ws) < 4)
	case "rake":
		hit = task(rakeTask)
	case "poetry", "hatch", "pdm", "flit", "uv", "maturin", "vsce", "ovsx", "jsr", "snapcraft", "charmcraft", "ko", "buf", "balena", "mike", "luarocks", "nimble", "stack", "cabal", "opam", "dune-release", "conan", "aptly", "zef", "fez", "spago", "tfx", "dart", "flutter", "pub", "elm", "kaggle", "ansible-galaxy", "berks", "modal", "bit", "copr-cli":
		hit = is("publish", "upload", "push", "unpublish", "release", "yank", "delete", "bump", "apply-x", "deploy", "submit", "snapshot-x", "set-default") && !(name == "uv" && verb != "publish") && !(name == "ko" && verb != "publish" && verb != "apply" && verb != "resolve") && !(name == "cabal" && verb != "upload") && !(name == "buf" && verb != "push") && !(name == "mike" && !anyWord("--push", "-p")) && !(name == "modal" && verb != "deploy") || (name == "dart" || name == "flutter") && verb == "pub" && (sub == "publish" || sub == "lish") || name == "maturin" && verb == "upload" || name == "ansible-galaxy" && (sub == "publish" || sub == "import")
	case "twine":
		hit = is("upload")
	case "setup.py":
		hit = anyWord("upload", "register")
	default:
		return builtPublished(name, c)
	}
	return hit, true
}

// builtPublished judges programs that build, and publish what they built.
func builtPublished(name string, c call) (hit, known bool) {
	is, anyWord, task := c.is, c.anyWord, c.task
	verb, sub, ws, operands := c.verb, c.sub, c.ws, c.operands
	switch name {
	case "mvn", "mvnw":
		hit = task(mvnTask) && !anyWord("-dskipdeploy", "-dmaven.deploy.skip=true", "-dmaven.deploy.skip")
	case "gradle", "gradlew":
		hit = task(gradleTask) && !task(gradleLocal)
	case "sbt", "mill", "lein", "clj":
		hit = slices.ContainsFunc(ws[1:], func(w word) bool {
			return publishRe0.MatchString(w.text) && !publishRe1.MatchString(w.text)
		})
	case "nuget", "dotnet", "paket":
		hit = is("push", "delete") || verb == "nuget" && (sub == "push" || sub == "delete")
	case "pod":
		hit = verb == "trunk" && (sub == "push" || sub == "deprecate" || sub == "delete") || verb == "repo" && sub == "push"
	case "swift":
		hit = verb == "package-registry" && sub == "publish"
	case "helm":
		hit = is("push", "cm-push", "s3", "gcs") && !local(ws) || verb == "chart" && sub == "push"
		if !hit {
			return false, false
		}
	case "oras", "crane", "skopeo", "buildah", "imgpkg", "cosign":
		hit = is("push", "attach", "tag-x", "append", "mutate", "sync", "sign", "attest", "upload") || is("copy", "cp", "delete")
		if slices.ContainsFunc(operands, func(w word) bool {
			return strings.HasPrefix(w.text, "localhost") || strings.HasPrefix(w.text, "127.0.0.1") || strings.HasPrefix(w.text, "docker://localhost")
		}) {
			hit = false
		}
		if name == "skopeo" && len(operands) > 0 && !strings.HasPrefix(operands[len(operands)-1].text, "docker://") && verb != "delete" && verb != "sync" {
			hit = false
		}
		if name == "buildah" {
			hit = verb == "push" && !local(ws)
		}
	case "nx":
		hit = is("release") && !is("release:version") && sub != "version" && sub != "changelog" && sub != "plan" && !anyWord("--skip-publish", "--skippublish") || task(nxTask) || slices.ContainsFunc(ws, func(w word) bool { return w.text == "publish" }) || anyWord("--target=publish", "--targets=publish", "--target=nx-release-publish")
		if !hit && (is("deploy") || anyWord("--target=deploy")) {
			return false, false
		}
	case "deno", "composer", "conda", "anaconda", "huggingface-cli", "hf", "rebar3", "mix", "flatpak", "choco", "winget", "brew", "operator-sdk", "pdk", "scoop":
		hit = name == "deno" && is("publish") || name == "anaconda" && is("upload") || name == "conda" && is("upload") || (name == "huggingface-cli" || name == "hf") && (is("upload", "upload-large-folder") || verb == "repo" && sub == "delete") || name == "mix" && is("hex.publish", "hex.retire", "hex.organization") || name == "rebar3" && verb == "hex" && sub == "publish" || name == "choco" && is("push", "apikey-x") || name == "winget" && is("submit") || name == "pdk" && is("release", "publish") || name == "brew" && is("bump-formula-pr", "bump-cask-pr", "pr-upload")
		if !hit {
			return false, false
		}
	case "web-ext":
		hit = is("sign")
	case "chrome-webstore-upload":
		hit = is("publish", "upload")
	case "auto", "mkdocs":
		hit = name == "mkdocs" && is("gh-deploy") && (anyWord("--force") || true)
	default:
		return false, false
	}
	return hit, true
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
	named := tokens(plain(script))
	if slices.Contains(named, "publish") || slices.Contains(named, "release") && !publishRe2.MatchString(script) {
		k.never(npmPublish, ws)
		return
	}
	if verb == script && !hiddenName(plain(script)) && name != "npm" { // yarn semantic-release
		if _, ok := publishers(script); ok && len(operands) > 0 {
			at := slices.IndexFunc(ws, func(w word) bool { return w.lower() == script })
			k.published(script, ws[at:])
		} else if isRisky(script) && len(operands) > 0 {
			at := slices.IndexFunc(ws, func(w word) bool { return w.lower() == script })
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
			hit = hit || has("flush", "reset_db", "sqlflush", "reset_schema") && !has("test")
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
	for _, n := range []string{"RAILS_ENV", "MIX_ENV", "APP_ENV", "NODE_ENV", "RACK_ENV", "FLASK_ENV", "DJANGO_SETTINGS_MODULE", "DATABASE_URL", "ENV"} {
		if v, ok := k.s.vars[n]; ok && testNamed(v) && !v[0].holes() {
			return true
		}
	}
	if testNamed(ws[1:]) || slices.ContainsFunc(ws, func(w word) bool { return w.text == "--env=testing" || w.text == "--env=test" }) || dryRun(ws) {
		return true
	}
	k.never(dropDatabase, ws)
	return true
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

// Tasks that publish.
var (
	rakeTask    = lazyregexp.New(`^(release|gem:push|publish)(\b|$)`)
	mvnTask     = lazyregexp.New(`^(deploy|release:perform|release:prepare|nexus-staging:|central-publishing:|deploy:|gpg:sign-and-deploy-file|site-deploy|scm-publish:|jreleaser:|jib:build$)`)
	gradleTask  = lazyregexp.New(`^:?([\w:-]*:)?(\w*publish\w*|jib|upload\w*|release|closeandrelease\w*|bintrayupload|jreleaser\w*|publishplugins|publishplugin)$`)
	gradleLocal = lazyregexp.New(`publishtomavenlocal`)
	nxTask      = lazyregexp.New(`(^|:)(publish|nx-release-publish)$`)
)

// Parts of what is looked for above.
var (
	publishRe0 = lazyregexp.New(`(?i)\b(publish|publishsigned|sonatyperelease|sonatypebundlerelease|ci-release|release|deploy|\+publish)\b`)
	publishRe1 = lazyregexp.New(`(?i)publishlocal|publishm2`)
	publishRe2 = lazyregexp.New(`(?i)(notes|build|test|check|dry|changelog|version|prepare|lint|pre|docs|pack)`)
)
