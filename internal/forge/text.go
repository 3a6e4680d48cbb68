package forge

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/specfile"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/tracker"
	"github.com/ralph-loop/ralph/internal/tracker/github"
)

const (
	maxIssue    = 256 << 10 // bytes of an issue's text in a spec
	maxComment  = 16 << 10  // bytes of one comment
	maxComments = 50
	maxName     = 60 // bytes of a file's name
)

// outside makes of text from outside text and nothing else: no control characters but line ends
// and tabs, no signs that are not seen, no marks of ralph's own.
func outside(s string, most int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\r\n", "\n")
	if len(s) > most {
		s = text.Head(s, most) + "\n\n(cut here: the issue has more)"
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		end := ""
		if strings.HasSuffix(line, "\n") {
			line, end = line[:len(line)-1], "\n"
		}
		for n, part := range strings.Split(line, "\t") {
			if n > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(text.Visible(text.WithoutControl(part)))
		}
		b.WriteString(end)
	}
	return strings.ReplaceAll(b.String(), "<!-- ralph", "<! -- ralph")
}

// Spec is the spec that an issue becomes, and the name of its file.
func Spec(i Issue) (file, spec string) {
	title := text.SafeLine(outside(i.Title, 1<<10))
	if title == "" {
		title = i.Ref.String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", title)
	if body := strings.TrimSpace(outside(i.Body, maxIssue)); body != "" {
		b.WriteString(body + "\n")
	} else {
		b.WriteString("The issue says no more than its title.\n")
	}
	if len(i.Said) > 0 {
		b.WriteString("\n## Comments\n")
		for n, c := range i.Said {
			if n == maxComments {
				fmt.Fprintf(&b, "\nand %s more\n", text.Count(len(i.Said)-n, "comment"))
				break
			}
			b.WriteString(quote(c))
		}
	}
	links := attachments(i)
	for n, a := range i.Attached {
		if n < maxComments {
			links = append(links, text.SafeLine(outside(a.Name, maxName*8))+": "+text.SafeLine(outside(a.URL, 1<<10)))
		}
	}
	if len(links) > 0 {
		b.WriteString("\n## Attachments\n\nThey are not downloaded:\n\n")
		for _, l := range links {
			fmt.Fprintf(&b, "- %s\n", l)
		}
	}
	head := specfile.Head{Issue: i.Ref.String(), Source: i.URL}
	return fileName(i), specfile.Format(head, b.String())
}

func quote(c tracker.Said) string {
	at := ""
	if c.Path != "" {
		at = fmt.Sprintf(" on %s:%d", text.SafeLine(outside(c.Path, maxName*8)), c.Line)
	}
	return fmt.Sprintf("\n%s%s:\n\n> %s\n", text.SafeLine(outside(c.Author, maxName)), at, strings.ReplaceAll(strings.TrimSpace(outside(c.Text, maxComment)), "\n", "\n> "))
}

var attached = lazyregexp.New(`https?://[^\s)>"'\]]*(?:/user-attachments/|/attachments/|/files/|/assets/|\.(?:png|jpe?g|gif|pdf|zip|log|txt|svg|mp4)\b)[^\s)>"'\]]*`)

func attachments(i Issue) []string {
	var links []string
	add := func(s string) {
		if len(s) > maxIssue {
			s = s[:maxIssue]
		}
		for _, l := range attached.FindAllString(outside(s, maxIssue), 100) {
			if l = text.SafeLine(l); !slices.Contains(links, l) && len(links) < 100 {
				links = append(links, l)
			}
		}
	}
	add(i.Body)
	for _, c := range i.Said[:min(len(i.Said), maxComments)] {
		add(c.Text)
	}
	return links
}

// nameOf is how the file of an item's spec begins.
func nameOf(ref tracker.Ref) string {
	if ref.Service != ralph.GitHub {
		return strings.ToLower(strings.ReplaceAll(ref.String(), ":", "-"))
	}
	_, _, n := ref.Repo()
	return fmt.Sprintf("issue-%d", n)
}

// fileName is the file of an issue's spec: the same each time.
func fileName(i Issue) string {
	var b strings.Builder
	for _, r := range strings.ToLower(i.Title) {
		switch {
		case r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= maxName {
			break
		}
	}
	return strings.TrimSuffix(nameOf(i.Ref)+"-"+strings.Trim(b.String(), "-"), "-") + ".md"
}

// Round is the spec of another round of a pull request: what came back, and what was asked at
// first.
func Round(head specfile.Head, title, url string, red []github.Run, said []tracker.Said, asked string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s (round %d)\n\nThe work is done and proposed as %s. What came back from there is below; make it right, and change nothing else.\n", title, head.Round, text.SafeLine(url))
	if len(red) > 0 {
		b.WriteString("\n## Checks of the service that are red\n")
		for n, r := range red {
			if n == maxComments {
				break
			}
			fmt.Fprintf(&b, "\n- %s: %s", text.SafeLine(outside(r.Name, maxName*8)), text.SafeLine(r.Conclusion))
			if r.URL != "" {
				fmt.Fprintf(&b, " (%s)", text.SafeLine(r.URL))
			}
			b.WriteString("\n")
			for _, part := range []string{r.Output.Title, r.Output.Summary, r.Output.Text} {
				if part = strings.TrimSpace(outside(part, maxComment)); part != "" {
					fmt.Fprintf(&b, "\n  > %s\n", strings.ReplaceAll(part, "\n", "\n  > "))
				}
			}
		}
	}
	if len(said) > 0 {
		b.WriteString("\n## What reviewers said\n")
		for n, c := range said {
			if n == maxComments {
				break
			}
			b.WriteString(quote(c))
		}
	}
	return specfile.Format(head, specfile.JoinRound(b.String(), text.Head(asked, maxIssue)))
}
