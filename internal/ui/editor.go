package ui

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/config/setting"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ui/draw"
	"github.com/ralph-loop/ralph/internal/ui/typed"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// editedMsg is a text that came back from an editor.
type editedMsg struct {
	file string
	text string
	err  error
	take func(m *Model, text string) tea.Cmd
}

// edit has the person edit a text with $VISUAL or $EDITOR, which gets the terminal meanwhile.
func (m *Model) edit(name, words string, take func(m *Model, text string) tea.Cmd) tea.Cmd {
	editor := cmp.Or(proc.Getenv(m.opt.Env.Environ, "VISUAL"), proc.Getenv(m.opt.Env.Environ, "EDITOR"), "vi")
	dir, err := os.MkdirTemp("", "ralph-ui-")
	file := filepath.Join(dir, name)
	if err == nil {
		err = os.WriteFile(file, []byte(words), 0o600)
	}
	if err != nil {
		m.say(draw.Bad, "No file for the editor could be made: "+err.Error())
		return nil
	}
	args := []string{"/bin/sh", "-c", editor + ` "$1"`, "editor", file} // it may have words of its own, as git allows
	run := proc.NewForeground(m.ctx, proc.Command{Args: args, Dir: m.opt.Root, Env: m.opt.Env.Environ})
	return tea.Exec(m.aside(run), func(err error) tea.Msg {
		defer os.RemoveAll(dir)
		if err != nil {
			return editedMsg{err: fmt.Errorf("the editor (%s) has failed: %w", editor, err)}
		}
		b, err := os.ReadFile(file)
		return editedMsg{file: name, text: string(b), err: err, take: take}
	})
}

// edited takes the text over.
func (m *Model) edited(msg editedMsg) tea.Cmd {
	if msg.err != nil {
		m.say(draw.Bad, plainWords(msg.err)+"; $VISUAL or $EDITOR names another one")
		return nil
	}
	return msg.take(m, msg.text)
}

// editField has the text of a field edited.
func (m *Model) editField(f *form) tea.Cmd {
	at := f.at
	return m.edit(f.fields[at].Name+".md", f.fields[at].Input.String(), func(_ *Model, text string) tea.Cmd {
		f.fields[at].Input = typed.New(strings.TrimRight(text, "\n"))
		return nil
	})
}

// editSettings has ralph/config.yaml edited. What is wrong with it is said, and nothing is
// written then; the person may go on where they were.
func (m *Model) editSettings() tea.Cmd {
	was, err := os.ReadFile(filepath.Join(m.opt.Root, "ralph/config.yaml"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.say(draw.Bad, plainWords(err))
		return nil
	}
	return m.editSettingsFrom(string(was), string(was))
}

// errMoved says that somebody else was faster.
var errMoved = errors.New("somebody else has changed ralph/config.yaml meanwhile: nothing was written")

func (m *Model) editSettingsFrom(was, words string) tea.Cmd {
	return m.edit("config.yaml", words, func(m *Model, typed string) tea.Cmd {
		if typed == was {
			m.say(draw.Note, "The settings stay as they are.")
			return nil
		}
		err := workspace.ChangeSettings(m.opt.Root, func(now []byte) ([]byte, error) {
			if string(now) != was {
				return nil, errMoved
			}
			_, err := config.Read([]byte(typed), nil)
			return []byte(typed), err
		})
		if _, wrong := errors.AsType[*setting.Error](err); wrong {
			m.popup = wrongSettings(err, was, typed)
			return nil
		}
		if err != nil {
			m.say(draw.Bad, plainWords(err))
			return nil
		}
		m.say(draw.Good, "✓ The settings are written; an engine at work reads them at its next start.")
		return nil
	})
}

// wrongSettings says what is wrong with settings that were typed, and asks what now.
func wrongSettings(err error, was, typed string) popup {
	c := &choice{title: "Nothing was written", foot: "enter: choose   esc: give it up"}
	c.all = func(string) []entry {
		var out []entry
		for line := range strings.Lines(err.Error()) {
			out = append(out, entry{left: draw.Of(draw.Bad, strings.TrimRight(line, "\n"))})
		}
		return append(out, entry{},
			entry{left: draw.Of(draw.Strong, "Edit it again"), do: func(m *Model) tea.Cmd { return m.editSettingsFrom(was, typed) }},
			entry{left: draw.Of(draw.Plain, "Leave the settings as they were"), do: func(*Model) tea.Cmd { return nil }})
	}
	c.refresh()
	return c
}
