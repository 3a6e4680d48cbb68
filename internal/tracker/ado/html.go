package ado

import (
	"html"
	"strings"
)

// plain is HTML as text, with what it has of structure as Markdown.
func plain(s string) string {
	var b strings.Builder
	link, hidden := "", ""
	for s != "" {
		at := strings.IndexByte(s, '<')
		if at < 0 {
			at = len(s)
		}
		if hidden == "" {
			b.WriteString(html.UnescapeString(s[:at]))
		}
		s = s[at:]
		end := strings.IndexByte(s, '>')
		if end < 0 {
			b.WriteString(s) // it is no tag
			break
		}
		tag := s[1:end]
		s = s[end+1:]
		name := strings.ToLower(strings.TrimRight(strings.Fields(tag + " .")[0], "/"))
		switch {
		case name == "script" || name == "style":
			hidden = name
		case hidden != "":
			if name == "/"+hidden {
				hidden = ""
			}
		case name == "a":
			link = attribute(tag, "href")
		case name == "/a":
			if link != "" && !strings.HasSuffix(b.String(), link) {
				b.WriteString(" (" + link + ")")
			}
			link = ""
		case name == "img":
			b.WriteString("(a picture: " + attribute(tag, "src") + ")")
		default:
			b.WriteString(structure(name))
		}
	}
	return tidy(b.String())
}

// structure is what a tag is as Markdown.
func structure(name string) string {
	switch name {
	case "br", "br/", "/p", "/div", "/tr", "/ul", "/ol", "/blockquote":
		return "\n"
	case "li":
		return "\n- "
	case "h1", "h2", "h3", "h4", "h5", "h6":
		return "\n\n" + strings.Repeat("#", int(name[1]-'0')) + " "
	case "/h1", "/h2", "/h3", "/h4", "/h5", "/h6":
		return "\n\n"
	case "pre", "/pre":
		return "\n```\n"
	case "code", "/code":
		return "`"
	case "/td", "/th":
		return " | "
	}
	return ""
}

// attribute is the value of an attribute of a tag.
func attribute(tag, name string) string {
	_, rest, ok := strings.Cut(tag, name+"=")
	if !ok || rest == "" {
		return ""
	}
	if quote := rest[:1]; quote == `"` || quote == "'" {
		value, _, _ := strings.Cut(rest[1:], quote)
		return html.UnescapeString(value)
	}
	value, _, _ := strings.Cut(rest, " ")
	return html.UnescapeString(value)
}

// tidy leaves at most one empty line, and no spaces at the ends of lines.
func tidy(s string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.ReplaceAll(s, "\u00a0", " "), "\n") {
		line = strings.TrimRight(line, " \t\r")
		if line == "" && (len(lines) == 0 || lines[len(lines)-1] == "") {
			continue
		}
		lines = append(lines, line)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
