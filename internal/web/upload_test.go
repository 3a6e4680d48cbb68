package web_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func (a *acted) SpecFile(name, text string) (string, error) {
	a.did = append(a.did, name+": "+text)
	return name, nil
}

// A spec is sent as a file: it is queued under its name, or one that is said beside it.
// What is too large, no text, or has no name of a spec is refused, and nothing is written.
func TestUpload(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, file, text, typed string
		want                    string // what is written, or why not
		status                  int
	}{
		{"a.md", "", "# A\r\nx", "", "a.md: # A\nx", http.StatusSeeOther},
		{`C:\\Users\\me\\B.MARKDOWN`, "", "# B", "", "B.md: # B", http.StatusSeeOther},
		{"../../etc/c.txt", "", "# C", "", "c.md: # C", http.StatusSeeOther},
		{"a.md", "other.md", "# A", "", "other.md: # A", http.StatusSeeOther},
		{"a.exe", "", "# A", "", "is no name of a spec", http.StatusUnprocessableEntity},
		{".md", "", "# A", "", "is no name of a spec", http.StatusUnprocessableEntity},
		{"a.md", "", "", "", "The file is empty", http.StatusUnprocessableEntity},
		{"a.md", "", "\xff\xfe#", "", "is no text", http.StatusUnprocessableEntity},
		{"a.md", "", "a\x00b", "", "is no text", http.StatusUnprocessableEntity},
		{"a.md", "", strings.Repeat("x", 1<<20+1), "", "larger than 1 MiB", http.StatusUnprocessableEntity},
		{"a.md", "", "# A", "# B", "A text and a file", http.StatusUnprocessableEntity},
	} {
		a, x := openActed(t)
		var b bytes.Buffer
		form := multipart.NewWriter(&b)
		for name, value := range map[string]string{"file": tt.file, "text": tt.typed, "back": "/specs"} {
			if err := form.WriteField(name, value); err != nil {
				t.Fatal(err)
			}
		}
		f, err := form.CreateFormFile("upload", tt.name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.Write([]byte(tt.text))
		_ = form.Close()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/do/queue", &b)
		r.Header.Set("Content-Type", form.FormDataContentType())
		w := httptest.NewRecorder()
		x.ServeHTTP(w, r)
		got := strings.Join(a.did, ", ")
		if w.Code != http.StatusSeeOther {
			got = w.Body.String()
		}
		if w.Code != tt.status || !strings.Contains(got, tt.want) || (len(a.did) == 1) != (tt.status == http.StatusSeeOther) {
			t.Errorf("%q: %d, did %.80q, want %q", tt.name, w.Code, a.did, tt.want)
		}
		if n := len(a.State().Inbox); (n == 1) != (tt.status == http.StatusSeeOther) {
			t.Errorf("%q: %d in the inbox", tt.name, n)
		}
	}
}
