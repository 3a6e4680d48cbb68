package operation

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// Programs are told what to do by verbs, and there are fewer of these than programs: what is
// said here holds for programs that nobody has heard of. A verb is one of the first words of a
// command, or stands in one (delete-bucket, db:drop, Remove-AzVM, deployStack), or is an option
// (--delete-all). What programs that work on the tree or on this machine alone mean by such a
// word is in harmless.

// sense is what a verb does.
type sense int

const (
	noSense        sense = iota
	senseLooks           // only looks, or makes something: what follows is a name
	senseRemoves         // takes away; many programs mean something of their own by it
	senseDeletes         // takes away, and it does not come back
	senseShips           // brings something to where others have it
	sensePublishes       // and says so
	senseDeploys         // changes what runs
)

var senses = sync.OnceValue(func() map[string]sense {
	out := map[string]sense{}
	for s, list := range []string{
		senseLooks: `list ls get describe show status log logs diff plan view info inspect version help search find check validate lint test tests watch
			tail cat print explain history whoami doctor login logout auth build serve dev preview open edit download pull fetch export create add new
			generate gen update install i config init start compile verify format fmt shell repl console docs doc import convert render
			template can-i why audit query grep which env set synth ping top dump clone read report summary stats parse scan rename label annotate`,
		senseRemoves:   `rm remove reset prune flush unlink revoke del clear uninstall deactivate`,
		senseDeletes:   `delete destroy drop purge wipe erase terminate nuke obliterate decommission deprovision teardown truncate flushall flushdb undeploy deregister shred removeall deleteall rmi-all expunge annihilate zap undefine forget seal disown reboot shutdown poweroff powerdown powercycle halt unregister`,
		senseShips:     `push upload submit release ship distribute`,
		sensePublishes: `publish unpublish yank publishes shipit retire deprecate`,
		senseDeploys:   `deploy redeploy promote rollout rollback golive failover deployment deploys`,
	} {
		for name := range strings.FieldsSeq(list) {
			out[name] = sense(s)
		}
	}
	return out
})

// tame are parts of a word that make it another: release-notes, pre-push, deploy:dev, publishLocal.
var tame = lazyregexp.New(`(?i)(^|[^a-z])(no|pre|post|test|tests|check|dry|notes?|changelog|build|lint|docs?|pack|prepare|local|snapshot|dev|debug|branch|draft|candidate|mode|name|list|logs?|status|on|help|version|assemble|bundle|file|dir|path|staging|stage|preview|demo|example|sandbox|message|m|cache|view|route|screen|config|history|completion|coverage|codecov|artifacts?|sourcemaps?|reports?|logs|translations|screenshots|i18n)([^a-z]|$)`)

// verbOf is what a word of a command says that it does.
func verbOf(w word) (sense, string) {
	if w.holes() || len(w.text) > 40 || strings.ContainsAny(w.text, "/=@ ,\n\\") || w.globs() {
		return noSense, ""
	}
	ts := tokens(w)
	if len(ts) == 0 || len(ts) > 5 {
		return noSense, ""
	}
	if len(ts) == 1 {
		return senses()[ts[0]], ts[0]
	}
	if senses()[ts[0]] == senseLooks {
		return senseLooks, ts[0]
	}
	if tame.MatchString(strings.Join(ts, " ")) {
		return noSense, ""
	}
	for part := range strings.SplitSeq(w.text, ":") { // of app:purge-users each
		ts := tokens(plain(part))
		if len(ts) == 0 {
			continue
		}
		first, last := senses()[ts[0]], senses()[ts[len(ts)-1]]
		switch {
		case first > senseLooks && (!strings.Contains(part, ".") || len(ts) == 1):
			return first, ts[0]
		case last > senseLooks:
			return last, ts[len(ts)-1]
		}
	}
	return noSense, ""
}

// harmless are the programs that mean something of their own by a verb: they work on the tree
// or on what they keep on this machine. "*" is all of their words.
var harmless = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(`*: asdf mise rtx pyenv rbenv nodenv jenv goenv tfenv ghcup sdk minikube kind k3d colima lima limactl multipass vagrant ddev lando sail
		*: tmux screen direnv chezmoi stow yadm nix nix-env nix-store nix-collect-garbage guix ccache sccache bazel bazelisk simctl avdmanager sdkmanager adb emulator ollama code cursor codium claude codex
		*: gsettings defaults dconf ctest cmake meson ninja scons waf vim emacs tsc eslint pass keyring notmuch mbsync khal task-warrior todo taskw zoxide z jump bat fzf hyperfine virtualenv workon conda-env kubectx kubens docker-credential
		*: export declare local unset alias history popd pushd set trap type hash jobs cmake-gui swiftenv pip-sync pip-compile bumpversion bump2version bump-my-version tbump cz commitizen commitlint husky lefthook pre-commit changie towncrier
		*: jupyter ipython nbstripout nbdime black isort ruff pkg-config pre-push pv tee less systemd-analyze systemd-cgls busctl loginctl hg fossil pijul bd beads stg gt git-branchless xattr ip6 nmap mosquitto_pub mosquitto_sub ros2 rostopic amqp-publish avahi-publish
		*: apt-mark dpkg-divert update-alternatives update-rc.d flatpak-builder xcodes xcode-select launchd wsl plutil xauth xhost xrandr pactl pulseaudio brightnessctl bluetoothctl wpctl
		remove rm reset prune flush del revoke unlink clean clear uninstall: npm pnpm yarn bun npx poetry pdm uv pipenv hatch rye pixi conda mamba micromamba pip pip3 pipx gem bundle bundler cargo composer dotnet go mix rebar3 opam stack cabal nimble zef luarocks pod spm swift dart flutter pub elm spago deno jspm bower lerna rush nx turbo ng expo shadcn husky brew choco winget scoop snap flatpak port apt apt-get dnf yum apk pacman zypper sops jq jj sl bit dvc pre-commit rustup cross wasm-pack
		publish: dotnet msbuild hugo mosquitto nats redis docker-compose
		rollback: knex rake rails artisan mix php typeorm diesel dbmate alembic liquibase sequelize sequelize-cli migrate-mongo db-migrate phinx
		push: drizzle-kit prisma jj sl hg dvc stg bd pass adb git-town notmuch stack queue simctl
		release: mix rebar3 distillery relx bazel lsb cz lerna-version vite wasm-pack tauri cross ninja cmake cargo-build flutter electron-forge xmake premake dist lsb_release dub crystal shards nimble zig odin meson
		deploy: mix prisma pnpm qt windeployqt macdeployqt linuxdeploy npm
		delete erase shutdown remove: xcrun
		destroy: rails
		delete remove rm: svn hg fossil
		clear: artisan console symfony drush
		delete destroy drop purge: kind minikube k3d vagrant apt apt-get dpkg git-town conda mamba micromamba
		submit: sbatch qsub bsub condor spark gt git-spice av graphite
		remove rm: helm
		ship: fossa
		upload: arduino-cli platformio pio codecov coveralls
		*: tr cut sed awk gawk grep egrep tee wc echo printf xargs cat ln cp logger column paste
		*: changeset-version version standard-version conventional-changelog auto-changelog git-cliff semantic-release-dry`) {
		words, names, _ := strings.Cut(strings.TrimSpace(line), ": ")
		for name := range strings.FieldsSeq(names) {
			out[name] += " " + words + " "
		}
	}
	return out
})

// means reports whether a program means by a word what others mean.
func means(name, verb string) bool {
	list := harmless()[name]
	return !strings.Contains(list, " * ") && !strings.Contains(list, " "+verb+" ")
}

// bare are programs that publish by being run, whatever they are told but for the words after
// the colon.
func bareReleaser(name string) (unless string, ok bool) {
	for line := range strings.Lines(`np release-it semantic-release multi-semantic-release python-semantic-release publish-please clean-publish auto-release ghr dput gh-pages
		goreleaser: build check healthcheck init jsonschema completion man
		surge: list login whoami logout`) {
		names, words, _ := strings.Cut(strings.TrimSpace(line), ":")
		if slices.Contains(strings.Fields(names), name) {
			return words + " version changelog print-version generate-config help", true
		}
	}
	return "", false
}

// more are words by which some programs publish that mean something else to most.
func more(name string, ws, operands []word) bool {
	if len(operands) == 0 {
		return false
	}
	does := map[string]string{
		"web-ext": "sign", "crane": "copy cp append mutate push", "oras": "copy cp attach", "cosign": "sign attest attach", "skopeo": "copy sync",
		"bit": "export", "brew": "bump-formula-pr bump-cask-pr pr-upload", "ansible-galaxy": "import", "fastlane": "deliver supply pilot upload_to_app_store upload_to_play_store", "mkdocs": "gh-deploy", "ko": "build apply resolve", "ghp-import": "docs", "osc": "commit", "copr": "build", "koji": "build", "fedpkg": "update build", "bodhi": "updates",
		"aptly": "publish",
	}[name]
	switch {
	case name == "ko" && given(ws, "--local"), slices.ContainsFunc(ws, func(w word) bool { return w.text == "--push=false" }):
		return false
	case (name == "cargo" || name == "gem") && operands[0].text == "owner":
		return given(ws[2:], "--add --remove -a -r")
	case !slices.Contains(strings.Fields(does), operands[0].lower()) || isLoopback(ws):
		return false
	}
	return name != "skopeo" || strings.HasPrefix(operands[len(operands)-1].text, "docker://") || operands[0].text == "sync"
}

// unpublished are options by which programs that publish do not.
var unpublished = lazyregexp.New(`^(--no-publish|--noop|--print|--no-push|--preview|--snapshot|--release-version|--changelog|--no-npm\.publish|--skip-?publish|--skip=.*publish.*|-[dD]skipdeploy|-[dD]maven\.deploy\.skip(=true)?|--draft)$`)

// valuedWords are options of services that are followed by a value, which is no verb.
const valuedWords = " -n --namespace --context --profile --project -p --region -e --env --environment --stage -a --app --kube-context -f --file --values --set -i --inventory -l --limit -t --tags -C --target --resource-group -g --name --subscription --query --output -o --function-name --cluster --scope --config -c --kubeconfig --extra-vars --vault-password-file --token --team --account -w --workspace --tag --registry --access --otp --prefix --cwd --dir --filter -F --loglevel --projects --index --repository -k --api-key --source -s --manifest-path --features --package -u --user -h --host -P --port --id --server --url --org --branch -b --message -m --role --zone --type "

// verb judges a program by its verbs; true: it has one.
func (k *analysis) verb(name string, ws []word) bool {
	if strings.ContainsAny(ws[0].text, " \t\n\\") || dryRun(ws) || given(ws, "--help --version") && len(ws) < 3 || slices.ContainsFunc(ws, func(w word) bool { return unpublished.MatchString(w.lower()) }) || k.own {
		return false
	}
	if name == "cargo" && len(ws) > 1 && strings.HasPrefix(ws[1].text, "+") { // its toolchain
		ws = append([]word{ws[0]}, ws[2:]...)
	}
	_, operands := arguments0(ws, valuedWords)
	if name == "cargo" && len(operands) > 0 && strings.HasSuffix(operands[0].text, "release") && !given(ws, "--execute -x") {
		return false // it only says what it would do
	}
	if words, ok := bareReleaser(name); ok && (len(operands) == 0 || !slices.Contains(strings.Fields(words), operands[0].lower())) && !isLoopback(ws) {
		k.never(npmPublish, ws)
		return true
	}
	if name == "jj" && slices.ContainsFunc(ws, func(w word) bool { return w.text == "push" }) && given(ws, "--deleted --allow-backwards") {
		k.never(pushForce, ws)
		return true
	}
	if more(name, ws, operands) {
		k.never(npmPublish, ws)
		return true
	}
	if k.task(name, ws) {
		return true
	}
	if run, ok := k.runner(name, ws); ok {
		return run
	}
	return k.verbs(name, ws, operands)
}

func (k *analysis) verbs(name string, ws, operands []word) bool {
	power := powershell.MatchString(ws[0].text)
	own := strings.Contains(ws[0].text, "/") && !strings.HasPrefix(ws[0].text, "/") && !strings.HasPrefix(ws[0].text, "@") // a program of the project
	s, _ := verbOf(plain(scriptEnd.ReplaceAllString(name, "")))
	switch {
	case power && s >= senseRemoves && !powerLocal.MatchString(name), own && s == senseDeletes && ownScript.MatchString(name):
		return k.acts(max(s, senseDeletes), name, ws)
	case glued.MatchString(name) && !own && means(name, name):
		return k.acts(senseDeletes, name, ws)
	case s > senseRemoves && (len(tokens(plain(name))) > 1 || s != senseShips) && !own && means(name, name):
		return k.acts(s, name, ws)
	}
	if distant(name) && !own && k.changesFar(name, ws, operands) {
		return true
	}
	if !own && (changesWhat(operands) || sqlWrites.MatchString(joined(ws))) && (slices.ContainsFunc(ws[1:], deploysTo) || k.inProduction()) {
		k.never(productionDeploy, ws)
		return true
	}
	nouns := strings.Fields("config env log logs plan test docs auth template report query status import export dump audit history label build version")
	for i, w := range operands[:min(len(operands), 3)] {
		if w.text == "power" && i+1 < len(operands) && slices.Contains([]string{"off", "reset", "cycle", "down", "soft"}, operands[i+1].text) || grpcDeletes.MatchString(w.text) && name == "grpcurl" {
			return k.acts(senseDeletes, name, ws)
		}
		s, verb := verbOf(w)
		switch {
		case s == senseLooks && i+1 < len(operands) && slices.Contains(nouns, w.text) && takesIt(operands[i+1]):
			continue // vault config delete
		case s == senseLooks, strings.Contains(w.text, "/"):
			return k.flags(name, ws, own)
		case s == noSense || !means(name, verb), own && s != senseDeletes, i > 0 && s == senseRemoves && localNoun.MatchString(operands[i-1].text), i == 2 && s < senseDeletes && !distant(name):
			continue
		}
		return k.acts(s, name, ws)
	}
	return k.flags(name, ws, own)
}

// takesIt reports whether a word behind a noun takes it away: logs delete-log-group.
func takesIt(w word) bool {
	s, verb := verbOf(w)
	return s == senseDeletes || verb == "rm" || verb == "remove"
}

// changesWhat reports whether one of the first words changes something that has no verb of its own
// above, and none before it only looks.
func changesWhat(operands []word) bool {
	for _, w := range operands[:min(len(operands), 4)] {
		if changesIt.MatchString(w.text) {
			return true
		}
		if s, _ := verbOf(w); s == senseLooks {
			return false
		}
	}
	return false
}

// distant are programs that work on other machines alone, and that change them by words that are
// harmless elsewhere, or by none.
func distant(name string) bool {
	return slices.Contains(strings.Fields("ansible ansible-playbook pyinfra heroku firebase railway nomad vault consul skaffold eas eas-cli doctl ibmcloud argocd flux kamal mina fab dep salt puppet chef-client nixops colmena dokku gigalixir clever scalingo eb cf bosh juju render surge amplify sam copilot serverless sls zappa chalice appcenter code-push expo"), name)
}

// changesFar judges those.
func (k *analysis) changesFar(name string, ws, operands []word) bool {
	playbook := strings.HasPrefix(name, "ansible") || name == "pyinfra" || name == "puppet" && slices.ContainsFunc(operands, func(w word) bool { return w.text == "agent" || w.text == "apply" })
	hit := playbook && len(operands) > 0 || name == "chef-client" || slices.ContainsFunc(operands[:min(len(operands), 2)], func(w word) bool {
		verb := w.text[strings.LastIndexByte(w.text, ':')+1:]
		return changesIt.MatchString(verb) || startsIt.MatchString(verb) && !(name == "heroku" && verb == "run")
	})
	if !hit || given(ws[1:], "--check --syntax-check --list-tasks --list-hosts") || slices.ContainsFunc(ws, func(w word) bool {
		return slices.Contains(strings.Fields("-C ping setup debug gather_facts"), w.text) && playbook
	}) {
		return false
	}
	switch {
	case slices.ContainsFunc(ws[1:], deploysTo):
		k.never(productionDeploy, ws)
	case !local(ws) && !slices.ContainsFunc(ws, func(w word) bool { return deployStaging.MatchString(w.text) }):
		k.unknown("what it changes may be in production", ws)
	}
	return true
}

var (
	startsIt    = lazyregexp.New(`^(run|create-deployment|release-react|restore|rebuild|switch|scale|svc)$`)
	glued       = lazyregexp.New(`^[a-z]{2,10}(delete|remove|destroy|wipe|purge|flush|erase)$|^(delete|destroy|purge|wipe|erase|drop)[a-z]{2,12}$`)
	localNoun   = lazyregexp.New(`^(cache|alias|context|label|extension|toolchain|completion|worktree|stash|bookmark|venv)s?$`)
	tameFlag    = lazyregexp.New(`(?i)conflicting|outputs?|missing|stale|unused|old|orphan|after|before|source|files?|extra|temp|empty|duplicates?|comments|merged|artifacts|trailing|unlisted`)
	ownScript   = lazyregexp.New(`^(wipe|nuke|destroy|drop|purge|undeploy|terminate)([-_.]|$)`)
	grpcDeletes = lazyregexp.New(`/(Delete|Destroy|Remove|Purge|Drop|Shutdown|Wipe|Terminate)`)
	scriptEnd   = lazyregexp.New(`\.(sh|bash|py|rb|js|ts|pl)$`)
	changesIt   = lazyregexp.New(`^(restart|apply|sync|update|set|unset|scale|stop|migrate|upgrade|up|down|swap|switch|enable|disable|edit|patch|replace|put|import|restore|change|move|activate|invalidate|cancel|close|block|suspend|drain|evict)$`)
	powershell  = lazyregexp.New(`^[A-Z][a-z]+-[A-Z]\w+$`)
	powerLocal  = lazyregexp.New(`^(remove|clear|reset|uninstall)-(item|itemproperty|variable|module|psdrive|job|pssession|event|typedata|alias|host|content|history|psbreakpoint|package|recyclebin|psreadline.*)$`)
)

// flags judges verbs that are options.
func (k *analysis) flags(name string, ws []word, own bool) bool {
	for i, w := range ws[1:] {
		flag, value, _ := strings.Cut(w.text, "=")
		if i+2 < len(ws) && value == "" {
			value = ws[i+2].text
		}
		long, ok := strings.CutPrefix(flag, "--")
		if !ok || value == "false" || value == "never" || value == "no" || own || !means(name, "*") {
			continue
		}
		if s, _ := verbOf(plain(long)); s >= senseDeletes && s != senseShips && !tame.MatchString(long) && !tameFlag.MatchString(long) {
			return k.acts(s, name, ws)
		}
		if strings.HasPrefix(long, "upload-app") || strings.HasPrefix(long, "upload-package") {
			return k.acts(sensePublishes, name, ws)
		}
	}
	return false
}

// inProduction reports whether a variable that the command has set says where it works.
func (k *analysis) inProduction() bool {
	return slices.ContainsFunc(slices.Sorted(maps.Keys(k.s.vars)), func(n string) bool {
		v := k.s.vars[n]
		return n != "NODE_ENV" && environment.MatchString(n) && len(v) > 0 && deploysTo(v[0])
	})
}

// acts holds what a verb does, unless it is done to something that is there for tests.
func (k *analysis) acts(s sense, name string, ws []word) bool {
	if s <= senseLooks {
		return false
	}
	prod := slices.ContainsFunc(ws[1:], deploysTo)
	safe := !prod && (k.forTests() || isLoopback(ws) || s != sensePublishes && (local(ws) || slices.ContainsFunc(ws, func(w word) bool { return deployStaging.MatchString(w.text) })))
	switch {
	case safe:
	case s == sensePublishes || s == senseShips && publisher(name):
		k.never(npmPublish, ws)
	case s == senseShips:
		k.unknown("what it brings to others does not come back", ws)
	case prod:
		k.never(productionDeploy, ws)
	case s == senseDeploys:
		k.unknown("what it changes may be in production", ws)
	default:
		k.unknown("what it takes away may not come back", ws)
	}
	return true
}

// publisher reports whether a program is one of packages, so that what it pushes is published.
func publisher(name string) bool {
	return slices.Contains(strings.Fields("gem twine flit poetry hatch pdm uv maturin nuget dotnet pod helm oras crane snapcraft choco conan luarocks cabal stack buf vsce ovsx goreleaser jreleaser release-plz cargo rake mvn mvnw gradle gradlew sbt anaconda hf huggingface-cli cpan-upload"), name)
}

func isLoopback(ws []word) bool {
	return slices.ContainsFunc(ws[1:], func(w word) bool { return loopback.MatchString(w.text) })
}

var loopback = lazyregexp.New(`(?i)(^|[/=@.\s])(localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0|host\.docker\.internal|kind-registry|registry\.local|[\w-]+\.local(host)?)([:/?"'\s]|$)|^:\d+|^::1`)

// runners are the programs that run what the project calls by a name, with the words that stand
// before that name.
func runners(name string) (before string, ok bool) {
	switch name {
	case "make", "gmake", "just", "task", "go-task", "rake", "mage", "invoke", "inv", "gulp", "grunt", "ant", "nox", "tox", "poe", "doit", "tusk", "run", "jake", "bake", "mask", "xc", "ninja", "nimble", "dune", "scons", "waf", "pants", "buck2", "please", "plz", "moon", "earthly", "shake", "thor", "robo", "phing", "sbt", "mill", "lein", "clj", "clojure", "bb", "mvn", "mvnw", "gradle", "gradlew", "nx", "turbo", "lerna", "rush", "wireit", "wsrun", "melos", "bloop", "amper", "npm-run-all", "run-s", "run-p", "nps", "foy", "ng":
		return "run run-many bulk -T -M -X -s -e", true
	case "deno":
		return "task", true
	case "composer":
		return "run run-script", true
	case "cargo":
		return "make xtask", true
	case "hatch", "pdm", "rye", "pixi", "uv", "poetry":
		return "run", true
	case "zig":
		return "build", true
	case "bazel", "bazelisk":
		return "run", true
	case "dagger":
		return "call", true
	}
	return "", false
}

// runner judges the names of what the project is told to run: there the word decides, since
// nobody knows what is behind it; where the work tree can be read, see scripts.
func (k *analysis) runner(name string, ws []word) (hit, ok bool) {
	before, ok := runners(name)
	if !ok {
		return false, false
	}
	_, operands := arguments0(ws, " -C -f --file -j --jobs -p --project --prefix --project-dir --directory -P --config -c ")
	only := slices.Contains([]string{"deno", "composer", "cargo", "hatch", "pdm", "rye", "pixi", "uv", "poetry", "zig", "bazel", "bazelisk", "dagger"}, name)
	if only && (len(operands) == 0 || !slices.Contains(strings.Fields(before), operands[0].lower())) {
		return false, false
	}
	if isLoopback(ws) { // REGISTRY=localhost:5000
		return false, true
	}
	for i, w := range operands {
		if strings.Contains(w.text, "=") || only && i == 0 || strings.HasSuffix(name, "nx") && i > 3 {
			continue
		}
		if s := targetOf(name, w); s != noSense {
			return k.target1(s, name, w, ws), true
		}
	}
	for i, w := range ws[1:] {
		key, value, _ := strings.Cut(w.text, "=")
		if ws[i].text == "-t" || strings.HasPrefix(ws[i].text, "--target") {
			key, value = ws[i].text, w.text
		}
		if (key == "-t" || strings.HasPrefix(key, "--target")) && targetOf(name, plain(value)) == sensePublishes {
			return k.target1(sensePublishes, name, w, ws), true
		}
	}
	return false, true
}

// target1 holds a target of a runner. What only deploys, and does not say to production, is for
// gate.patterns, which a person may change.
func (k *analysis) target1(s sense, name string, w word, ws []word) bool {
	switch {
	case s == sensePublishes:
		k.never(npmPublish, ws)
	case s == senseDeletes && !local(ws) && !k.forTests():
		k.unknown("what it takes away may not come back", ws)
	default:
		return false
	}
	return true
}

// targetOf is what the name of a task says that it does.
func targetOf(name string, w word) sense {
	ts := tokens(w)
	text := strings.Join(ts, " ")
	jvm := slices.Contains([]string{"mvn", "mvnw", "gradle", "gradlew", "sbt", "mill", "lein", "clj"}, name)
	if w.holes() || strings.Contains(w.text, "://") || tame.MatchString(text) && !jvm || localTarget.MatchString(w.text) {
		return noSense
	}
	for _, t := range ts {
		if jvm && t == "release" && !jvmRelease.MatchString(w.text) {
			continue
		}
		switch s := senses()[t]; {
		case s == sensePublishes, jvm && (t == "jib" || strings.HasPrefix(strings.ToLower(strings.TrimLeft(w.text, "+")), "sonatype") && t == "release"), s == senseShips && t != "submit", t == "released", jvm && (t == "deploy" || t == "jib" || t == "bintrayupload" || t == "jreleaser" || strings.HasPrefix(t, "publish") || strings.HasPrefix(t, "sonatyperelease") || strings.HasPrefix(t, "closeandrelease")):
			return sensePublishes
		case s == senseDeletes && (t != "truncate" && t != "purge" && t != "drop" || strings.Contains(w.text, ":")):
			return senseDeletes
		}
	}
	return noSense
}

var jvmRelease = lazyregexp.New(`(?i)(^|:)(release|release:(perform|prepare|stage|branch|update-versions)|\w*closeandrelease\w*|\+?sonatype\w*release)$`)

var localTarget = lazyregexp.New(`(?i)^(publishtomavenlocal|publishlocal|publishm2|\+?publishlocal|.*mavenlocal|ci-release-notes|--release)$|\.(ya?ml|json|js|ts|py|go|rs|java|md|txt|sh|toml)$|^assemble|^(target|build|dist)/`)

// runsToPublish reports whether a runner is told a name that says so.
func runsToPublish(name string, ws []word) bool {
	_, ok := runners(name)
	return ok && slices.ContainsFunc(ws[1:], func(w word) bool { return targetOf(name, w) != noSense })
}
