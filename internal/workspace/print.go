package workspace

import (
	"encoding/json"
	"fmt"
	"io"
)

// PrintJSON writes v for people and programs: indented, with < and & as they are.
func PrintJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}
