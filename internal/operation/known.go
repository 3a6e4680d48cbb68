package operation

import (
	"slices"
	"strings"
	"sync"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// localPrograms build, test, check, show or install: none of their words is about production,
// and what they do is the project's own.
var localPrograms = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for name := range strings.FieldsSeq(`ls cat bat less more head tail vim vi nano code mkdir touch diff tree du df stat file wc cmp sha256sum sha512sum md5sum
		pytest py.test tox nox jest vitest mocha ava karma playwright cypress rspec minitest phpunit pest ctest gotestsum ginkgo bats shellspec nose2 behave cucumber testcafe wdio tap tape uvu japa detox
		gofmt gofumpt goimports golangci-lint staticcheck govulncheck gopls gci revive errcheck ineffassign yamllint eslint prettier stylelint shellcheck shfmt hadolint actionlint kubeval kubeconform mypy pyright ruff black isort flake8 pylint bandit
		rustfmt tsc tsup esbuild vite rollup webpack parcel swc babel biome oxlint dprint clippy-driver rubocop standardrb reek brakeman phpstan psalm php-cs-fixer ktlint detekt swiftlint clang-format clang-tidy cppcheck markdownlint markdownlint-cli2 cspell codespell typos vale taplo
		sort uniq jq yq fx gron xmllint sed-less zip unzip gzip gunzip bzip2 xz zstd 7z which realpath basename dirname readlink open xdg-open nl expand column paste comm join seq sleep date time-less true false
		apt apt-get dnf yum apk pacman zypper port pip pip3 pipx conda-less gem-less bundler nvm fnm volta corepack rustup sdk asdf-less
		gcc g++ clang clang++ cc c++ ld ar make-less cmake meson ninja autoconf automake configure ./configure javac java kotlinc scalac rustc ghc dotnet-less msbuild xcodebuild swiftc nim gfortran nasm protoc flatc thrift
		storybook start-storybook next nuxt astro gatsby ng vue-cli-service react-scripts svelte-kit remix turbo-less lerna-less tsc-watch nodemon concurrently-less http-server serve live-server
		coverage codecov lcov genhtml gcovr nyc c8 istanbul tarpaulin grcov snyk trivy grype syft gitleaks semgrep trufflehog tfsec checkov tflint kube-linter kube-score pluto conftest-less opa
		tig lazygit delta cloc scc tokei hyperfine-less ab wrk hey k6 vegeta siege locust pre-commit husky lint-staged commitlint commitizen cz changie towncrier git-cliff conventional-changelog standard-version
		ffmpeg convert magick pandoc pdflatex latexmk asciidoctor sphinx-build jekyll hugo mkdocs-less mdbook typedoc jsdoc javadoc doxygen
		ps top htop lsof netstat ss ping dig nslookup host whois traceroute ip ifconfig arp uptime free vmstat iostat dmesg journalctl lscpu lsblk lspci lsusb uname hostname whoami id groups w who last env-less printenv locale tty stty clear reset tput cal bc expr factor
		kill-less killall-less pgrep pidof strings nm objdump readelf ldd otool size hexdump xxd od base64 base32 sum cksum b2sum openssl-less gpg-less ssh-keygen ssh-keyscan ssh-add md5
		chmod-less git-less say osascript-less afplay notify-send screen-less tmux-less act-less watchman entr-less inotifywait fswatch direnv-less export source . set cd`) {
		if !strings.HasSuffix(name, "-less") {
			out[name] = true
		}
	}
	return out
})

var testTask = lazyregexp.New(`(?i)^(test|tests|t|build|lint|check|fmt|format|vet|typecheck|type-check|dev|start|serve|watch|docs?|clean|install|ci|bench|coverage|cover|e2e|unit|integration|storybook|preview|compile|generate|gen|codegen|prepare|setup|verify|format-check|lint-fix|tsc|validate)([:._-].*)?$`)

// isLocal reports whether a command builds, tests, checks or shows, and nothing else.
func isLocal(name string, ws []word) bool {
	if runsToPublish(name, ws) {
		return false
	}
	if localPrograms()[name] {
		return true
	}
	if len(ws) < 2 {
		return false
	}
	_, operands := arguments0(ws, " -C --prefix --filter -F -w --workspace --cwd --dir -p --package --manifest-path -f --file -j --tag --registry --access --otp --loglevel ")
	verb, sub := "", ""
	if len(operands) > 0 {
		verb = operands[0].lower()
	}
	if len(operands) > 1 {
		sub = operands[1].lower()
	}
	in := func(list string) bool { return slices.Contains(strings.Fields(list), verb) }
	switch name {
	case "go":
		if verb == "run" && slices.ContainsFunc(operands, deployWord) {
			return false
		}
		return in("test vet build fmt list doc mod install generate get env version tool work clean bug fix run telemetry")
	case "npm", "pnpm", "yarn", "bun":
		if in("install i ci add remove uninstall update up upgrade ls list view info show outdated audit cache config init link why pack version prune dedupe rebuild test t root bin prefix whoami doctor fund create fetch import store help search licenses set") {
			return true
		}
		if in("run run-script") {
			verb = sub
		}
		return testTask.MatchString(verb) && !deployWord(plain(verb)) || localPrograms()[verb]
	case "npx", "bunx", "pnpx":
		return localPrograms()[verb] || strings.HasPrefix(verb, "create-") || strings.HasPrefix(verb, "@playwright") || localPrograms()[base(plain(verb))]
	case "cargo":
		if verb == "run" && slices.ContainsFunc(ws, deployWord) {
			return false
		}
		return in("test build check clippy fmt doc bench run install clean update add tree metadata nextest vet audit deny llvm-cov miri fuzz init new fix rustc expand generate-lockfile fetch vendor package search login hack machete outdated udeps binstall tarpaulin watch component xtask")
	case "make", "gmake", "just", "task", "ninja", "rake", "gulp", "grunt", "mage", "invoke", "bazel", "bazelisk", "pants", "buck2", "turbo", "nx", "gradle", "gradlew", "mvn", "mvnw", "sbt", "dotnet", "swift", "mix", "rebar3", "stack", "cabal", "dune", "composer", "bundle", "lerna":
		if slices.ContainsFunc(operands, deployWord) {
			return false
		}
		if name == "make" || name == "gmake" || name == "just" || name == "task" || name == "rake" || name == "gulp" || name == "grunt" || name == "mage" || name == "invoke" || name == "turbo" {
			return len(operands) > 0 && testTask.MatchString(verb) && !slices.ContainsFunc(ws, word.any)
		}
		if name == "gradle" || name == "gradlew" || name == "mvn" || name == "mvnw" {
			return in("test build check clean verify package compile assemble install dependencies tasks help lint ktlintcheck connectedcheck jar bootrun validate test-compile dependency:tree spotless:check spotless:apply") && len(operands) < 3 && !slices.ContainsFunc(operands, func(w word) bool {
				return strings.HasPrefix(w.lower(), "publish") || strings.HasPrefix(w.lower(), "deploy") || strings.HasPrefix(w.lower(), "release")
			})
		}
		if name == "nx" || name == "bazel" || name == "bazelisk" || name == "pants" {
			return in("test build lint affected graph format query run-many serve reset e2e print show list info clean fmt check") && !slices.ContainsFunc(ws, func(w word) bool { return strings.Contains(w.text, "publish") || deployWord(w) })
		}
		return in("test build check lint run restore clean install update add require dump-autoload show list validate exec format compile deps.get deps.compile phx.server format --check-formatted credo dialyzer init new sln tool watch publish-x") && !(name == "bundle" && verb == "exec") && !(name == "dotnet" && verb == "tool") && !(name == "mix" && strings.HasPrefix(verb, "ecto"))
	case "docker", "podman":
		return in("build buildx images ps logs inspect pull tag info version history stats top port search login logout network volume stop start kill rm rmi prune system cp save load events diff wait pause unpause rename create context builder image container") && !slices.ContainsFunc(ws, func(w word) bool {
			return w.text == "--push" || w.text == "push" || w.text == "--context" || w.text == "run" || w.text == "exec" || strings.Contains(w.text, "type=registry") || strings.Contains(w.text, "push=true")
		}) && !deploysToHost(ws)
	case "python", "python3", "py":
		i := slices.IndexFunc(ws, func(w word) bool { return w.text == "-m" })
		return i > 0 && i+1 < len(ws) && (localPrograms()[ws[i+1].text] || slices.Contains([]string{"unittest", "venv", "ensurepip", "build", "http.server", "json.tool", "compileall", "timeit", "cProfile", "doctest", "pydoc", "virtualenv", "site", "sysconfig", "zipfile", "tarfile"}, ws[i+1].text))
	case "brew", "choco", "winget", "scoop", "snap", "flatpak", "port":
		return in("install update upgrade list search info tap cleanup uninstall remove deps doctor outdated services link unlink bundle")
	case "poetry", "uv", "pdm", "pipenv", "hatch", "rye", "conda", "mamba", "micromamba":
		return in("install add remove lock sync update show build init env check config export pip venv python tree create activate list info clean self") && !(name == "conda" && verb == "upload")
	case "gem":
		return in("install build list update uninstall search environment sources info contents which fetch specification")
	case "tar", "zip":
		return !given(ws, "--remove-files --to-command --checkpoint-action -m --use-compress-program -I -T")
	}
	return false
}

func deploysToHost(ws []word) bool {
	for i, w := range ws[1:] {
		if (ws[i].text == "--context" || ws[i].text == "-H" || ws[i].text == "--host" || ws[i].text == "-c") && deploysTo(w) || (strings.HasPrefix(w.text, "--context=") || strings.HasPrefix(w.text, "--host=")) && deploysTo(w) {
			return true
		}
	}
	return false
}

// isFileProgram reports whether the words of a program are names of files.
func isFileProgram(name string) bool {
	if _, ok := fileTools(name); ok {
		return true
	}
	return slices.Contains([]string{"cp", "mv", "ln", "tar", "rsync", "scp", "tee", "dd", "sed", "find", "fd", "install", "emacs", "gfind", "gio"}, name)
}

// readsOnly reports whether a command of a known program only looks.
func readsOnly(name string, ws []word) bool {
	_, operands := arguments0(ws, " -n --namespace --context --cluster --kubeconfig --profile --region -p --project -C ")
	if len(operands) == 0 {
		return given(ws[1:], "--version --help")
	}
	verb := operands[0].lower()
	sub := ""
	if len(operands) > 1 {
		sub = operands[1].lower()
	}
	in := func(list string) bool { return slices.Contains(strings.Fields(list), verb) }
	switch name {
	case "kubectl", "oc", "k":
		return in("get describe logs log top explain api-resources api-versions version cluster-info diff wait config auth port-forward proxy completion kustomize options events plugin") || verb == "rollout" && (sub == "status" || sub == "history") || verb == "delete-x"
	case "helm":
		return in("list ls get status history template lint diff show search repo version dependency dep env pull package test verify plugin create completion")
	case "docker", "podman":
		return in("ps logs inspect images stats top version info history port events diff search") || verb == "compose" && slices.Contains(strings.Fields("ps logs config images top port version ls"), sub)
	case "terraform", "tofu", "pulumi", "cdk", "terragrunt":
		return in("plan validate fmt show output init version graph providers state-list console preview stack synth diff ls list") && !(verb == "init" && false)
	case "git":
		return in("log show diff status grep ls-files ls-tree blame describe rev-parse rev-list shortlog branch-x cat-file ls-remote reflog")
	case "gh", "glab":
		return slices.Contains(strings.Fields("list view status diff checks watch browse search"), sub) || verb == "search" || verb == "status" || verb == "browse"
	case "aws", "gcloud", "az":
		return slices.ContainsFunc(operands[min(1, len(operands)):], func(w word) bool {
			return knownRe0.MatchString(w.lower())
		}) && !slices.ContainsFunc(operands, func(w word) bool { return cloudDeletes.MatchString(w.lower()) })
	case "vercel", "netlify", "heroku", "fly", "flyctl":
		return in("ls list logs inspect whoami status env dev build link pull version info apps:info ps config releases open")
	case "systemctl", "service", "journalctl", "supervisorctl":
		return in("status is-active is-enabled list-units show cat list-timers") || sub == "status"
	}
	return false
}

// dryRun reports whether a command only says what it would do.
func dryRun(ws []word) bool {
	for _, w := range ws[min(1, len(ws)):] {
		t := w.lower()
		switch {
		case t == "--dry-run" || t == "--dryrun" || t == "--dry_run" || t == "--check-only" || t == "--what-if" || t == "--noop" || t == "-whatif" || t == "--just-print" || t == "--simulate" || t == "--dry" || t == "-dry-run" || t == "--help" && len(ws) < 5:
			return true
		case strings.HasPrefix(t, "dry_run=") || strings.HasPrefix(t, "dryrun=") || strings.HasPrefix(t, "dry-run="):
			return strings.HasSuffix(t, "=1") || strings.HasSuffix(t, "=true") || strings.HasSuffix(t, "=yes")
		case strings.HasPrefix(t, "--dry-run="):
			return t != "--dry-run=none" && t != "--dry-run=false" && !strings.Contains(t, hole)
		case t == "--":
			return false
		}
	}
	return false
}

// riskyNames are the programs by whose words a line may be told to do what matters.
var riskyNames = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for name := range strings.FieldsSeq(`rm grm srm rimraf unlink shred truncate trash mv dd mkfs wipefs blkdiscard format find git gh glab hub npm pnpm yarn bun npx lerna cargo gem twine poetry goreleaser
		psql mysql mariadb sqlite3 mongosh mongo dropdb mysqladmin redis-cli kubectl helm terraform tofu vercel netlify docker ssh rsync sudo doas env eval xargs bash sh zsh dash nohup timeout
		deploy aws gcloud az fly heroku chmod chown tee curl semantic-release np release-it python python3 node perl ruby php tar cp prisma rails mix wget sqlx flyway firebase wrangler exec mkswap fdisk parted
		diskutil zpool zfs cryptsetup lvremove vgremove sgdisk shutdown mvn gradle nuget dotnet ansible-playbook serverless cdk pulumi rclone busybox make source nice time su command`) {
		out[name] = true
	}
	return out
})

func isRisky(name string) bool {
	return riskyNames()[name] || strings.HasPrefix(name, "mkfs") || strings.HasPrefix(name, "git-") || deployWord(plain(name))
}

// isKnown reports whether a name is a program's of which there is something to know.
func isKnown(name string) bool {
	return isRisky(name) || localPrograms()[name] || isShell(name) || interpreter.MatchString(name)
}

var riskyText = lazyregexp.New(`(?i)rm\b|rimraf|unlink|shred|trunc|trash|\bmv\b|\bdd\b|mkfs|wipefs|discard|format|find|push|publish|drop|sql|mongo|redis|kube|helm|terra|tofu|vercel|netlify|prod|deploy|heroku|\bfly|delete|release|chmod|chown|eval|sh\b|/dev/|>|upload|gh |glab|api|exec|sudo|disk|zfs|zpool|reset|git\b|xargs|destroy|purge|rsync|clean`)

// risky reports whether there may be anything in a text.
func risky(text string) bool { return riskyText.MatchString(text) }

// Parts of what is looked for above.
var (
	knownRe0 = lazyregexp.New(`^(describe|list|get|ls|show|logs|tail|read)(-|$)`)
)
