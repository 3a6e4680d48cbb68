package operation_test

import (
	"testing"

	"github.com/ralph-loop/ralph/internal/operation"
)

// S6, S7: what a runner is told to run by its name is looked at where the work tree can be read:
// what it runs decides, and not the name. Where it cannot be read, the name does.
func TestTasks(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"/home/me/repo/Makefile": "BIN := app\nREMOTE = origin\nbuild:\n\tgo build -o $(BIN) ./cmd\n\n.PHONY: release ship\nrelease: build\n\ttar czf $(BIN).tgz $(BIN)\n\nship: build upload\n\n" +
			"upload:\n\t@docker push me/$(BIN)\n\ntest: ; git push -f $(REMOTE)\nlint:\n\t-rm -rf $(BIN) && golangci-lint run\nnested:\n\t$(MAKE) ship\nclean: # what is built\n\trm -rf build\nprice:\n\techo $$HOME\n",
		"/home/me/repo/web/Makefile":     "release:\n\tnpm publish\n",
		"/home/me/repo/package.json":     `{"scripts":{"release":"npm run build && node pack.js","build":"tsc","publish":"changeset publish","prelint":"npm publish","lint":"eslint .","x":"npm run publish"}}`,
		"/home/me/repo/tools/justfile":   "bin := \"app\"\nrelease version='1':\n    cargo build --release\n    tar czf {{bin}}.tgz target\npublish:\n    cargo publish\n",
		"/home/me/repo/broken/Makefile":  "release:\n\t$(DOCKER) push x\n",
		"/home/me/repo/other/Makefile.x": "release:\n\tgem push x.gem\n",
	}
	read := func(name string) (string, bool) { text, ok := files[name]; return text, ok }
	q := func(text string) operation.Judgement {
		r := command(text)
		r.Dir = "/home/me/repo"
		return (operation.Patterns{}).Judge(r, operation.Workspace{Work: "/home/me/repo", Home: "/home/me", Read: read})
	}
	for text, held := range map[string]bool{
		"make release": false, "make": false, "make build lint clean": false, "make price": false, "make ship": true, "make upload": true, "make test": true, "make nested": true,
		"make -C web release": true, "cd web && make release": true, "make -f other/Makefile.x release": true, "make missing-release": true,
		"npm run release": false, "npm run build": false, "npm run publish": true, "npm run lint": true, "npm run x": true, "yarn release": false, "pnpm run publish": true,
		"cd tools && just release": false, "just -f tools/justfile publish": true, "just release": true, "task release": true, "cd /elsewhere && make release": true,
	} {
		if j := q(text); j.Held(true) != held {
			t.Errorf("%q is held: %t, want %t: %+v", text, !held, held, j.Found)
		}
	}
}
