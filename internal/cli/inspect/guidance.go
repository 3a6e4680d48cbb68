package inspect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/signature"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// Guidance is `ralph guidance`.
func Guidance(env workspace.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "guidance", Short: "What a model makes of a first message, before an agent works on it", Args: flags.NoSuchCommand,
		Long: `With guidance on (guidance.mode: demo) a model understands and plans what a thread of
` + "`ralph auto`" + ` is asked for before its first turn, and says after each turn what is next
(docs/auto.md).`,
		Example: "  ralph guidance demo --summary docs/guidance.json",
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newGuidanceDemo(env))
	return cmd
}

func newGuidanceDemo(env workspace.Env) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "demo --summary FILE", Short: "Ask the model of guidance about a file: route, understanding, plan, directive", Args: cobra.NoArgs,
		Long: `Asks the model of guidance each of its questions about a file, and prints what it says: the
route of the message, what is wanted, a plan, what the agent would be told. Nothing is
worked on, and nothing is recorded. The file is JSON:

  {"goal": "what the person said", "summary": "how the repository stands",
   "state": "what has happened so far", "permissions": "what the agent may do"}

The model is that of guidance.model, else those of decision (engine llm), else codex; the
last is a local Ollama.`,
		Example: `  ralph guidance demo --summary docs/guidance.json
  OPENAGENTS_GUIDANCE_MODEL=ollama:llama3.2 ralph guidance demo --summary -`,
	}
	cmd.Flags().StringVar(&file, "summary", "", "the `file` to ask about; - is the standard input")
	asJSON := flags.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if file == "" {
			return flags.Errorf("say which file is asked about: ralph guidance demo --summary docs/guidance.json")
		}
		in, err := readSummary(env, file)
		if err != nil {
			return err
		}
		parts, err := bootstrap.OpenForModels(env)
		if err != nil {
			return err
		}
		models, err := parts.Guidance(env.Environ)
		if err != nil {
			return err
		}
		defer models.Close()
		for _, n := range models.Notices {
			fmt.Fprintln(env.Stderr, n)
		}
		var all []ralph.Guided
		ended, err := models.GuideAll(cmd.Context(), in, func(f ralph.Guided) {
			if all = append(all, f); !*asJSON {
				fmt.Fprintln(env.Stdout, report.GuidedWords(f))
			}
		})
		if err == nil && *asJSON {
			err = workspace.PrintJSON(env.Stdout, all)
		}
		if err == nil && ended != "" {
			err = &ralph.Refusal{Why: "no model gave an answer that counts: " + ended, Hint: "name another one: `ralph config edit guidance.model=openai:gpt-5`"}
		}
		return err
	}
	return cmd
}

// maxSummaryFile is how many bytes a file to ask about may have.
const maxSummaryFile = 1 << 20

// readSummary reads what guidance is asked about.
func readSummary(env workspace.Env, name string) (signature.GuidanceIn, error) {
	var in signature.GuidanceIn
	var b []byte
	var err error
	if name == "-" {
		b, err = io.ReadAll(io.LimitReader(env.Stdin, maxSummaryFile+1))
	} else {
		if !filepath.IsAbs(name) {
			name = filepath.Join(env.Dir, name)
		}
		b, err = os.ReadFile(name)
	}
	switch {
	case err != nil:
		return in, fmt.Errorf("read the summary: %w", err)
	case len(b) > maxSummaryFile:
		return in, flags.Errorf("%s is larger than %d bytes", name, maxSummaryFile)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return in, flags.Errorf("%s is no summary: %v; it is JSON with goal, summary, state and permissions", filepath.Base(name), err)
	}
	if strings.TrimSpace(in.Goal) == "" {
		return in, flags.Errorf("%s has no goal: say what the agent is asked for", filepath.Base(name))
	}
	return in, nil
}
