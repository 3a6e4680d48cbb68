package check

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// C-065 to C-069 and the other usual kinds of project.
func TestDetect(t *testing.T) {
	t.Parallel()
	type files map[string]string
	vet := []string{"go vet ./..."}
	for name, x := range map[string]struct {
		files   files
		quality []string
		test    string
		why     string
	}{
		"nothing":       {files{"README.md": "# x"}, nil, "", ""},
		"go":            {files{"go.mod": "module x"}, vet, "go test ./...", "go.mod: go vet ./..., go test ./..."},
		"rust":          {files{"Cargo.toml": ""}, []string{"cargo check"}, "cargo test", "Cargo.toml: cargo check, cargo test"},
		"npm":           {files{"package.json": `{"scripts":{"test":"vitest"}}`}, nil, "npm test", "package.json: npm test"},
		"npm, all":      {files{"package.json": `{"scripts":{"test":"jest","lint":"eslint .","typecheck":"tsc"}}`}, []string{"npm run lint", "npm run typecheck"}, "npm test", "package.json: npm run lint, npm run typecheck, npm test"},
		"type-check":    {files{"package.json": `{"scripts":{"type-check":"tsc"}}`}, []string{"npm run type-check"}, "", "package.json: npm run type-check"},
		"pnpm":          {files{"package.json": `{"scripts":{"test":"x"}}`, "pnpm-lock.yaml": ""}, nil, "pnpm test", ""},
		"yarn":          {files{"package.json": `{"scripts":{"test":"x"}}`, "yarn.lock": ""}, nil, "yarn test", ""},
		"bun":           {files{"package.json": `{"scripts":{"test":"x","lint":"y"}}`, "bun.lock": ""}, []string{"bun run lint"}, "bun run test", ""},
		"named manager": {files{"package.json": `{"packageManager":"pnpm@9.1.0","scripts":{"test":"x"}}`, "yarn.lock": ""}, nil, "pnpm test", ""},
		"placeholder":   {files{"package.json": `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`}, nil, "", ""},
		"playwright":    {files{"package.json": `{"devDependencies":{"@playwright/test":"1"}}`}, nil, "npx --no-install playwright test", ""},
		"cypress":       {files{"package.json": `{"devDependencies":{"cypress":"1"}}`, "yarn.lock": ""}, nil, "yarn run cypress run", ""},
		"vitest":        {files{"package.json": `{"dependencies":{"vitest":"1"}}`, "pnpm-lock.yaml": ""}, nil, "pnpm exec vitest run", ""},
		"broken json":   {files{"package.json": `{`}, nil, "", "package.json: cannot be read"},
		"pytest.ini":    {files{"pytest.ini": ""}, nil, "pytest", "pytest.ini: pytest"},
		"pyproject":     {files{"pyproject.toml": "[tool.pytest.ini_options]\n"}, nil, "pytest", ""},
		"uv":            {files{"pyproject.toml": "dev = ['pytest']\n", "uv.lock": ""}, nil, "uv run pytest", ""},
		"poetry":        {files{"setup.cfg": "[tool:pytest]\n", "poetry.lock": ""}, nil, "poetry run pytest", ""},
		"no pytest":     {files{"pyproject.toml": "[project]\n", "uv.lock": ""}, nil, "", ""},
		"maven":         {files{"pom.xml": ""}, nil, "mvn -q test", ""},
		"mvnw":          {files{"pom.xml": "", "mvnw": ""}, nil, "./mvnw -q test", ""},
		"gradle":        {files{"build.gradle": ""}, nil, "gradle test", ""},
		"gradlew":       {files{"build.gradle.kts": "", "gradlew": ""}, nil, "./gradlew test", ""},
		"rspec":         {files{"Gemfile": "", "spec/x_spec.rb": ""}, nil, "bundle exec rspec", ""},
		"no rspec":      {files{"Gemfile": ""}, nil, "", ""},
		"phpunit":       {files{"phpunit.xml.dist": ""}, nil, "vendor/bin/phpunit", ""},
		"dotnet":        {files{"App.sln": ""}, nil, "dotnet test", "App.sln: dotnet test"},
		"csproj":        {files{"App.csproj": ""}, nil, "dotnet test", ""},
		"make":          {files{"Makefile": "all:\n\ntest: all\n\tx\n"}, nil, "make test", "Makefile: make test"},
		"make, no test": {files{"Makefile": "test := x\ntests:\n\t.PHONY: test\n"}, nil, "", ""},
		"go and make":   {files{"go.mod": "", "Makefile": "test:\n"}, vet, "go test ./...", "Makefile: make test not used"},
		"go and npm":    {files{"go.mod": "", "package.json": `{"scripts":{"test":"x"}}`}, vet, "go test ./...", "package.json: npm test not used"},
		"lint and make": {files{"package.json": `{"scripts":{"lint":"x"}}`, "Makefile": "test:\n"}, []string{"npm run lint"}, "make test", "Makefile: make test"},
		"a part":        {files{"package.json": `{"scripts":{"lint":"x"}}`, "Cargo.toml": ""}, []string{"npm run lint"}, "cargo test", "Cargo.toml: cargo test of cargo check, cargo test"},

		"go workspace":            {files{"go.work": "", "go.mod": ""}, []string{"go vet $(go list -f '{{.Dir}}/...' -m)"}, "go test $(go list -f '{{.Dir}}/...' -m)", "go.work: "},
		"cargo workspace":         {files{"Cargo.toml": "[workspace]\nmembers = []\n"}, []string{"cargo check --workspace"}, "cargo test --workspace", ""},
		"cargo, no workspace":     {files{"Cargo.toml": "x = '[workspace]'\n"}, []string{"cargo check"}, "cargo test", ""},
		"gradle of modules":       {files{"settings.gradle.kts": "", "gradlew": ""}, nil, "./gradlew test", "settings.gradle.kts: "},
		"conftest":                {files{"conftest.py": "", "Pipfile.lock": "{}"}, nil, "pipenv run pytest", "conftest.py: "},
		"solution beside":         {files{"App.csproj": "", "My App.sln": ""}, nil, "dotnet test 'My App.sln'", ""},
		"two solutions":           {files{"A.sln": "", "B.sln": ""}, nil, "", "A.sln: one of A.sln, B.sln; say which in test.command"},
		"no test script":          {files{"package.json": `{"name":"x"}`}, nil, "", `package.json: no script "test" and no test framework`},
		"npm workspaces":          {files{"package.json": `{"workspaces":["packages/*"]}`, "packages/a/package.json": `{}`, "packages/b/package.json": `{"scripts":{"test":"x"}}`}, nil, "npm test --workspaces --if-present", ""},
		"empty workspaces":        {files{"package.json": `{"workspaces":["packages/*"]}`, "packages/a/package.json": `{}`}, nil, "", `no script "test"`},
		"outer workspaces":        {files{"package.json": `{"workspaces":["../*","/etc"]}`}, nil, "", `no script "test"`},
		"pnpm workspaces":         {files{"package.json": `{}`, "pnpm-workspace.yaml": "packages:\n  - 'apps/**'\n", "apps/a/package.json": `{"scripts":{"test":"x"}}`}, nil, "pnpm -r test", ""},
		"bun workspaces":          {files{"package.json": `{"workspaces":{"packages":["a"]}}`, "bun.lock": "", "a/package.json": `{"scripts":{"test":"x"}}`}, nil, "bun run --filter '*' test", ""},
		"yarn workspaces":         {files{"package.json": `{"packageManager":"yarn@4.1.0","workspaces":["a"]}`, "a/package.json": `{"scripts":{"test":"x"}}`}, nil, "yarn workspaces foreach -A run test", ""},
		"old yarn":                {files{"package.json": `{"packageManager":"yarn@1.22.0","workspaces":["a"]}`, "a/package.json": `{"scripts":{"test":"x"}}`}, nil, "", `no script "test"`},
		"a folder called test":    {files{"Makefile": "test:\n\tbats test\n", "test/a.bats": ""}, nil, "", "Makefile: make does nothing for its target test, since there is a test beside it: add `.PHONY: test`"},
		"a file called test":      {files{"Makefile": ".PHONY: all\nall: x\ntest: # run them\n\t./run\n", "test": ""}, nil, "", "Makefile: make does nothing"},
		"a phony test":            {files{"Makefile": ".PHONY: all test\ntest:\n\tbats test\n", "test/a.bats": ""}, nil, "make test", ""},
		"phony by a variable":     {files{"Makefile": ".PHONY: $(ALL)\ntest:\n\tbats test\n", "test/a.bats": ""}, nil, "make test", ""},
		"perhaps phony elsewhere": {files{"Makefile": "include rules.mk\ntest:\n\tbats test\n", "test/a.bats": ""}, nil, "make test", ""},
		"test needs something":    {files{"Makefile": "test: build\n\tbats test\n", "test/a.bats": ""}, nil, "make test", ""},
		"test always runs":        {files{"Makefile": "test::\n\tbats test\n", "test/a.bats": ""}, nil, "make test", ""},
		"root script":             {files{"package.json": `{"scripts":{"test":"turbo run test"},"workspaces":["a"]}`, "a/package.json": `{"scripts":{"test":"x"}}`}, nil, "npm test", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range x.files {
				path := filepath.Join(dir, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			d := Detect(dir)
			if !slices.Equal(d.Quality, x.quality) || d.Test != x.test || !strings.Contains(strings.Join(d.Why, "\n"), x.why) {
				t.Errorf("%+v", d)
			}
			if (x.test != "" || x.quality != nil) && len(d.Why) == 0 {
				t.Error("no reason given")
			}
		})
	}
}

// Folders and huge files where a file is expected are no finding.
func TestDetectReadsWithBounds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "package.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	late := strings.Repeat("# filler\n", readLimit/9+1) + "test:\n"
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte(late), 0o644); err != nil {
		t.Fatal(err)
	}
	if d := Detect(dir); d.Test != "" || len(d.Why) != 0 {
		t.Errorf("%+v", d)
	}
	if d := Detect(filepath.Join(dir, "gone")); d.Test != "" || len(d.Why) != 0 {
		t.Errorf("%+v", d)
	}
}

// C-065 to C-069: a package.json tells the framework by its script, else by what it
// depends on.
func TestDetectFramework(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ text, framework, test, why string }{
		{`{"devDependencies":{"@playwright/test":"1"}}`, "Playwright", "npx --no-install playwright test", ""},
		{`{"scripts":{"test":"playwright test"},"devDependencies":{"@playwright/test":"1"}}`, "Playwright", "npm test", ""},
		{`{"devDependencies":{"cypress":"13"}}`, "Cypress", "npx --no-install cypress run", ""},
		{`{"scripts":{"test":"vitest"},"devDependencies":{"vitest":"3"}}`, "Vitest", "npm test", ""},
		{`{"scripts":{"test":"npx vitest run"}}`, "Vitest", "npm test", ""},
		{`{"scripts":{"test":"node_modules/.bin/jest --ci"},"devDependencies":{"jest":"29"}}`, "Jest", "npm test", ""},
		{`{"scripts":{"test":"react-scripts test"}}`, "Jest", "npm test", ""},
		{`{"scripts":{"test":"npm run test:unit","test:unit":"mocha"}}`, "Mocha", "npm test", ""},
		{`{"scripts":{"test":"turbo run test"},"devDependencies":{"vitest":"3","cypress":"13"}}`, "Vitest", "npm test", ""},
		{`{"scripts":{"test":"java -jar x.jar"}}`, "", "npm test", ""},
		{`{"scripts":{"test":"node --test"}}`, "", "npm test", ""},
		{`{"scripts":{"test":"vitest run"},"devDependencies":{"vitest":"3","@playwright/test":"1"}}`, "Vitest", "npm test", "Playwright (npx --no-install playwright test) is there too"},
		// F-41: also beside a script that says nothing of a framework, which is not Playwright's then
		{`{"scripts":{"test":"node --test"},"devDependencies":{"@playwright/test":"1"}}`, "", "npm test", "Playwright (npx --no-install playwright test) is there too"},
		{`{"scripts":{"test":"turbo run test"},"devDependencies":{"vitest":"3","cypress":"13"}}`, "Vitest", "npm test", "Cypress (npx --no-install cypress run) is there too"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(x.text), 0o600); err != nil {
			t.Fatal(err)
		}
		d := Detect(dir)
		if d.Framework != x.framework || d.Test != x.test || d.TestFile != "package.json" || !strings.Contains(strings.Join(d.Why, "\n"), x.why) {
			t.Errorf("%s: %+v", x.text, d)
		}
	}
}
