package markup

import (
	"go/scanner"
	"go/token"
	"strings"
)

// goTokens are the pieces of a Go text. Chroma has no definition of Go that is a file;
// Go's own scanner knows the language, and takes a piece of a file as well as a file.
func goTokens(text string) []piece {
	files := token.NewFileSet()
	f := files.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(f, []byte(text), func(token.Position, string) {}, scanner.ScanComments)
	var out []piece
	done, after := 0, token.ILLEGAL
	add := func(class string, to int) {
		to = min(max(to, done), len(text))
		if to > done {
			out = append(out, piece{class, text[done:to]})
			done = to
		}
	}
	for {
		pos, kind, lit := s.Scan()
		if kind == token.EOF {
			break
		}
		if kind == token.SEMICOLON && lit == "\n" {
			after = token.ILLEGAL
			continue
		}
		at := f.Offset(pos)
		add("", at)
		class := goClass(kind, lit, after)
		if class == "" && kind == token.IDENT && strings.HasPrefix(strings.TrimLeft(text[min(at+len(lit), len(text)):], " "), "(") {
			class = "nf"
		}
		if class != "" {
			add(class, at+len(lit))
		}
		after = kind
	}
	add("", len(text))
	return out
}

// goClass is the class of a token that comes after another one.
func goClass(kind token.Token, lit string, after token.Token) string {
	switch {
	case kind == token.COMMENT:
		return "c"
	case kind == token.STRING || kind == token.CHAR:
		return "s"
	case kind == token.INT || kind == token.FLOAT || kind == token.IMAG:
		return "m"
	case kind.IsKeyword():
		return "k"
	case kind != token.IDENT:
		return ""
	case after == token.TYPE:
		return "nc"
	case after == token.FUNC:
		return "nf"
	case after == token.PERIOD:
		return ""
	}
	switch lit {
	case "true", "false", "nil", "iota":
		return "kc"
	case "bool", "byte", "rune", "string", "error", "any", "int", "int8", "int16", "int32", "int64",
		"uint", "uint8", "uint16", "uint32", "uint64", "uintptr", "float32", "float64", "complex64", "complex128", "comparable":
		return "kt"
	case "append", "cap", "clear", "close", "copy", "delete", "len", "make", "max", "min", "new", "panic", "print", "println", "recover":
		return "nb"
	}
	return ""
}
