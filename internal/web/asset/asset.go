// Package asset owns the files that pages load: style and scripts, embedded in the
// program. Their addresses name their content, so that a browser may keep them for
// ever. js/*.min.js come from npm unchanged, as js/NOTICE says; the rest is ralph's own.
package asset

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

//go:embed css/*.css js/*.js
var files embed.FS

// Set is all files, as they are served.
type Set struct {
	Style   string   // address of the one style sheet
	Early   string   // address of the script that runs before anything is shown
	Scripts []string // addresses, in the order that they are run
	Worker  string   // address of the script that all tabs of a browser run together, once

	byName map[string]file
}

type file struct {
	data []byte
	kind string
}

// Load reads the embedded files. The style sheets become one, base.css first.
func Load() *Set {
	s := &Set{byName: map[string]file{}}
	sheets, _ := fs.Glob(files, "css/*.css") // sorted; the pattern is good
	var style bytes.Buffer
	for _, name := range append([]string{"css/base.css"}, sheets...) {
		if name != "css/base.css" || style.Len() == 0 {
			b, _ := files.ReadFile(name)
			style.Write(b)
		}
	}
	s.Style = s.add("ralph.css", style.Bytes(), "text/css; charset=utf-8")
	early, _ := files.ReadFile("js/theme.js")
	s.Early = s.add("theme.js", early, "text/javascript; charset=utf-8")
	shared, _ := files.ReadFile("js/" + worker)
	s.Worker = s.add(worker, shared, "text/javascript; charset=utf-8")
	for _, name := range scripts() {
		b, _ := files.ReadFile("js/" + name)
		s.Scripts = append(s.Scripts, s.add(name, b, "text/javascript; charset=utf-8"))
	}
	return s
}

const worker = "worker.js"

// scripts are the names of the scripts that are run when the page is there: the
// libraries first, then ralph's own.
func scripts() []string {
	out := []string{"htmx.min.js", "htmx-sse.min.js", "idiomorph-ext.min.js", "ralph.js"}
	all, _ := fs.Glob(files, "js/*.js") // sorted; the pattern is good
	for _, name := range all {
		if name = path.Base(name); name != "theme.js" && name != worker && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func (s *Set) add(name string, data []byte, kind string) string {
	sum := sha256.Sum256(data)
	s.byName[name] = file{data, kind}
	return path.Join("/assets", hex.EncodeToString(sum[:6]), name)
}

// Serve answers a file of GET /assets/{version}/{name}.
func (s *Set) Serve(w http.ResponseWriter, r *http.Request) {
	f, ok := s.byName[r.PathValue("name")]
	if !ok {
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", f.kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(f.data)))
}
