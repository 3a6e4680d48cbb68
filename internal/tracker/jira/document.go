package jira

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph/internal/tracker"
)

// node is a part of a document in the Atlassian Document Format.
type node struct {
	Type    string         `json:"type"`
	Version int            `json:"version,omitempty"`
	Text    string         `json:"text,omitempty"`
	Content []node         `json:"content,omitempty"`
	Attrs   map[string]any `json:"attrs,omitempty"`
	Marks   []node         `json:"marks,omitempty"`
}

func (n node) attr(names ...string) string {
	for _, name := range names {
		if s, ok := n.Attrs[name].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// document is a comment as a document, with its marker in a line of its own.
func document(x tracker.Comment) node {
	doc := node{Type: "doc", Version: 1}
	for _, b := range append(tracker.Blocks(x.Text), tracker.Block{Lines: []string{visible(x.Marker)}}) {
		if b.List {
			list := node{Type: "bulletList"}
			for _, line := range b.Lines {
				list.Content = append(list.Content, node{Type: "listItem", Content: []node{paragraph(line)}})
			}
			doc.Content = append(doc.Content, list)
			continue
		}
		doc.Content = append(doc.Content, paragraph(b.Lines...))
	}
	return doc
}

func paragraph(lines ...string) node {
	p := node{Type: "paragraph"}
	for i, line := range lines {
		if i > 0 {
			p.Content = append(p.Content, node{Type: "hardBreak"})
		}
		if line = strings.ReplaceAll(line, "**", ""); line != "" { // an empty text is refused
			p.Content = append(p.Content, node{Type: "text", Text: line})
		}
	}
	return p
}

// plain is a document as Markdown, or the text that a Data Center sends.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var doc node
	if json.Unmarshal(raw, &doc) != nil {
		return ""
	}
	return strings.TrimSpace(blocks(doc.Content, "\n\n", 0))
}

// maxDepth bounds how deep a document is followed.
const maxDepth = 50

// blocks is a list of parts as Markdown. What stands in a line side by side is one paragraph.
func blocks(list []node, between string, depth int) string {
	if depth > maxDepth {
		return ""
	}
	var all []string
	for i := 0; i < len(list); i++ {
		from := i
		for i < len(list) && isInline(list[i]) {
			i++
		}
		if i > from {
			all = append(all, inline(list[from:i]))
		}
		if i < len(list) {
			if s := block(list[i], depth+1); s != "" {
				all = append(all, s)
			}
		}
	}
	return strings.Join(all, between)
}

func isInline(n node) bool {
	switch n.Type {
	case "text", "hardBreak", "mention", "emoji", "inlineCard", "date", "status", "mediaInline":
		return true
	}
	return false
}

func block(n node, depth int) string {
	switch n.Type {
	case "heading":
		level, _ := n.Attrs["level"].(float64)
		return strings.Repeat("#", min(max(int(level), 1), 6)) + " " + inline(n.Content)
	case "codeBlock":
		code, fence := inline(n.Content), "```"
		for strings.Contains(code, fence) {
			fence += "`"
		}
		return fence + n.attr("language") + "\n" + strings.TrimRight(code, "\n") + "\n" + fence
	case "blockquote", "panel":
		return "> " + strings.ReplaceAll(blocks(n.Content, "\n\n", depth), "\n", "\n> ")
	case "bulletList", "orderedList", "taskList", "decisionList":
		var items []string
		for i, item := range n.Content {
			mark := "- "
			switch {
			case n.Type == "orderedList":
				mark = fmt.Sprintf("%d. ", i+1)
			case n.Type == "taskList" && item.attr("state") == "DONE":
				mark = "- [x] "
			case n.Type == "taskList":
				mark = "- [ ] "
			}
			items = append(items, mark+strings.ReplaceAll(blocks(item.Content, "\n", depth), "\n", "\n   "))
		}
		return strings.Join(items, "\n")
	case "tableRow":
		var cells []string
		for _, cell := range n.Content {
			cells = append(cells, strings.Join(strings.Fields(blocks(cell.Content, " ", depth)), " "))
		}
		return "| " + strings.Join(cells, " | ") + " |"
	case "table":
		return blocks(n.Content, "\n", depth)
	case "rule":
		return "---"
	case "media":
		return "(a picture: " + n.attr("alt", "url", "id") + ")"
	case "blockCard", "embedCard":
		return n.attr("url")
	case "expand", "nestedExpand":
		return strings.TrimSpace(n.attr("title") + "\n\n" + blocks(n.Content, "\n\n", depth))
	}
	return blocks(n.Content, "\n\n", depth)
}

// inline is what stands in a line.
func inline(list []node) string {
	var b strings.Builder
	for _, n := range list {
		switch n.Type {
		case "text":
			b.WriteString(marked(n))
		case "hardBreak":
			b.WriteString("\n")
		case "inlineCard":
			b.WriteString(n.attr("url"))
		default:
			b.WriteString(n.attr("text", "shortName", "alt", "timestamp", "id"))
		}
	}
	return b.String()
}

func marked(n node) string {
	s := n.Text
	for _, m := range n.Marks {
		switch m.Type {
		case "code":
			s = "`" + s + "`"
		case "strong":
			s = "**" + s + "**"
		case "link":
			if to := m.attr("href"); to != n.Text {
				s = "[" + s + "](" + to + ")"
			}
		}
	}
	return s
}
