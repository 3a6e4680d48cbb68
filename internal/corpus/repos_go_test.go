//go:build corpus

package corpus

import (
	"fmt"
	"os"
	"strings"
)

// goChore adds a function to a package, and a line to a file that was there.
func goChore(pkg, dir string, touched ...edit) func(string) chore {
	return func(name string) chore {
		f := "Corpus" + strings.ToUpper(name[:1]) + name[1:]
		code := dir + "corpus_" + name + ".go"
		source := "package " + pkg + "\n\n// " + f + " answers what its test wants.\nfunc " + f + "() int { return %d }\n"
		test := fmt.Sprintf("package %s\n\nimport \"testing\"\n\nfunc Test%s(t *testing.T) {\n\tif got := %s(); got != 1 {\n\t\tt.Fatalf(\"%s answers %%d, want 1\", got)\n\t}\n}\n", pkg, f, f, name)
		c := chore{
			Red:   []edit{{Path: code, Text: fmt.Sprintf(source, 0)}, {Path: dir + "corpus_" + name + "_test.go", Text: test}},
			Green: []edit{{Path: code, Text: fmt.Sprintf(source, 1)}},
			Told:  name + " answers 0, want 1",
		}
		for _, e := range touched {
			e.Text = strings.ReplaceAll(e.Text, "NAME", name)
			c.Green = append(c.Green, e)
		}
		return c
	}
}

func fromModule(at string) func(*lab) {
	return func(l *lab) {
		l.copyOf(module(l.T, at), ".")
		l.start()
	}
}

func goRepositories() []repository {
	return []repository{
		{
			name: "gorilla mux 1.8.1", large: true, make: fromModule("github.com/gorilla/mux@v1.8.1"),
			// All tasks write at the same place: two of three conflict.
			chore: goChore("mux", "", edit{Path: "README.md", Text: "\nNAME was here.\n", End: true}),
		},
		{
			name: "pflag 1.0.10", only: "agent", make: fromModule("github.com/spf13/pflag@v1.0.10"),
			chore: goChore("pflag", ""),
		},
		cobra(),
		{
			name: "a workspace of two modules", large: true, only: "autopilot",
			make: func(l *lab) {
				l.copyOf(module(l.T, "github.com/gorilla/mux@v1.8.1"), "mux")
				l.copyOf(module(l.T, "github.com/spf13/pflag@v1.0.10"), "pflag")
				l.write(map[string]string{"go.work": "go 1.21\n\nuse ./mux\n\nuse ./pflag\n"})
				l.start()
			},
			chore: goChore("pflag", "pflag/"),
		},
	}
}

// cobra has a test that is red where nothing is forbidden, for root.
func cobra() repository {
	r := repository{
		name: "cobra 1.10.2", make: fromModule("github.com/spf13/cobra@v1.10.2"), chore: goChore("cobra", ""), only: "autopilot",
	}
	if os.Getuid() == 0 {
		// What the doctor offers for a test that was red before, and that nobody will mend now.
		r.settings = []string{"quality.baseline=known"}
		r.name += ", red before"
		r.only = "agent"
	}
	return r
}
