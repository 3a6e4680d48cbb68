package typed

import (
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/ui/draw"
)

// Field is one thing that a form asks for, and what was typed.
type Field struct {
	action.Field
	Input Line
}

// NewField is a field with what stands in it at first.
func NewField(x action.Field) Field { return Field{x, New(x.Value)} }

// Draw is the field as it stands in a form: its label, whole, and what was typed or chosen.
func (x *Field) Draw(columns int, keys bool) []draw.Line {
	tone := draw.Dim
	if keys {
		tone = draw.Accent
	}
	label := draw.Of(tone, x.Label)
	if x.Required {
		label = label.Add(draw.Warn, " *")
	}
	switch x.Kind {
	case "check":
		mark := "[ ] "
		if x.Input.String() != "" {
			mark = "[x] "
		}
		return draw.Of(tone, mark).Join(label).Wrap(columns, 4)
	case "choice":
		return append(label.Wrap(columns, 2), x.choices(tone).Wrap(columns, 2)...)
	}
	return append(label.Wrap(columns, 2), x.Input.Lines(columns-2, keys)...)
}

func (x *Field) choices(tone draw.Style) draw.Line {
	out := draw.Of(tone, "  ")
	for _, c := range x.Choices {
		shown := c
		if shown == "" {
			shown = "-"
		}
		if c == x.Input.String() {
			out = out.Add(draw.Strong|draw.Chosen, "‹"+shown+"›")
		} else {
			out = out.Add(draw.Dim, " "+shown+" ")
		}
	}
	return out
}
