package testdiff

import "strings"

// sides returns what an assertion compares, or the one thing it wants to be true;
// nothing when it is of another form.
func sides(code, text string) []string {
	args := arguments(code, text)
	if len(args) == 0 { // a statement: assert a == b
		body, ok := strings.CutPrefix(squeeze(code, text), "assert ")
		if !ok {
			return nil
		}
		return split(body)
	}
	first := args[0]
	if len(first) > 1 && (first[0] == "t" || first[0] == "b" || first[0] == "tb") {
		first = first[1:]
	}
	if len(args) > 1 { // expect(a).toBe(b)
		if last := args[len(args)-1]; len(first) == 1 && len(last) == 1 {
			return []string{first[0], last[0]}
		}
		if len(args) > 2 || len(args[1]) > 0 || len(first) != 1 || strings.Contains(code, ".not.") {
			return nil
		}
		return first // expect(true).toBeTruthy()
	}
	switch {
	case len(first) == 0:
		return nil
	case len(first) == 1 || first[1] == "" || first[1][0] == '"' || first[1][0] == '\'':
		return split(first[0])
	case first[0] != "" && first[0][0] == '"':
		return nil // perhaps a message
	}
	return first[:2:2]
}

func split(s string) []string {
	for _, op := range []string{" === ", " == "} {
		if a, b, ok := strings.Cut(s, op); ok {
			if strings.Contains(b, " and ") || strings.Contains(b, "&&") || strings.Contains(b, "||") {
				return nil
			}
			b, _, _ = strings.Cut(b, ", \"") // a message
			return []string{strings.TrimSpace(a), strings.TrimSpace(b)}
		}
	}
	one, _, _ := strings.Cut(s, ", ")
	return []string{one}
}

// arguments lists the arguments of each call of a chain, as a(b, c).d(e).
func arguments(code, text string) (out [][]string) {
	depth, from := 0, 0
	for i := 0; i < len(code); i++ {
		switch code[i] {
		case '(', '[', '{':
			if depth++; depth == 1 && code[i] == '(' {
				out, from = append(out, nil), i+1
			}
		case ')', ']', '}':
			if depth--; depth == 0 && len(out) > 0 && code[i] == ')' {
				if s := squeeze(code[from:i], text[from:i]); s != "" {
					out[len(out)-1] = append(out[len(out)-1], s)
				}
			}
			if depth < 0 {
				return out
			}
		case ',':
			if depth == 1 && len(out) > 0 {
				out[len(out)-1] = append(out[len(out)-1], squeeze(code[from:i], text[from:i]))
				from = i + 1
			}
		}
	}
	return out
}

func contains(s string, any []string) bool {
	for _, a := range any {
		if strings.Contains(s, a) {
			return true
		}
	}
	return false
}
