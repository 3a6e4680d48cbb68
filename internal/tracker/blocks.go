package tracker

import "strings"

// Block is a paragraph or a list of what a comment says: ralph writes both, and services want
// each in a form of its own.
type Block struct {
	Lines []string
	List  bool // each line is an item
}

// Blocks takes a text of ralph's apart, which is Markdown with paragraphs and lists alone.
func Blocks(text string) []Block {
	var all []Block
	open := false
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " \r")
		item, list := strings.CutPrefix(line, "- ")
		switch {
		case line == "":
			open = false
			continue
		case open && all[len(all)-1].List == list:
			all[len(all)-1].Lines = append(all[len(all)-1].Lines, item)
		default:
			all = append(all, Block{Lines: []string{item}, List: list})
			open = true
		}
	}
	return all
}
