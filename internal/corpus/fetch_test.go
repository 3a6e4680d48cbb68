//go:build corpus

package corpus

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// goModules are the modules of the corpus with their sums as in go.sum, so that no
// database of sums is asked. What they need comes by their own go.sum.
func goModules() map[string]string {
	return map[string]string{
		"github.com/gorilla/mux@v1.8.1":  "h1:TuBL49tXwgrFYWhqrNgrUNEY92u81SPhu7sTdzQEiWY=",
		"github.com/spf13/cobra@v1.10.2": "h1:DMTTonx5m65Ic0GOoRY2c16WCbHxOOw6xxezuLaBpcU=",
		"github.com/spf13/pflag@v1.0.10": "h1:4EBh2KAYBwaONj6b2Ye1GiHfwjqyROoF4RwYO+vPwFk=",
	}
}

// source is a source package of Debian 12, and the sums of the files that it is made of.
type source struct {
	name, version string
	files         map[string]string // sha256
}

func debianSources() []source {
	return []source{
		{"figlet", "2.2.5-3", map[string]string{"figlet_2.2.5.orig.tar.gz": sumFiglet}},
		{"libtry-tiny-perl", "0.31-2", map[string]string{"libtry-tiny-perl_0.31.orig.tar.gz": sumTryTiny}},
		{"toolz", "0.12.0-1", map[string]string{"toolz_0.12.0.orig.tar.gz": sumToolz}},
	}
}

const (
	sumFiglet  = "bf88c40fd0f077dab2712f54f8d39ac952e4e9f2e1882f1195be9e5e4257417d"
	sumTryTiny = "3300d31d8a4075b26d8f46ce864a1d913e0e8467ceeba6655d5d2b2e206c11be"
	sumToolz   = "04d555d7ccb3c84301eaad310dd27ba511ae3dcf331ada5828d7cc03942f2c2e"
)

// The lock file has version and checksum of each of the packages.
//
//go:embed testdata/package.json testdata/package-lock.json
var npmFiles embed.FS

// cache is the folder of what was downloaded.
func cache(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(envCache)
	if dir == "" {
		t.Fatalf("%s does not say where the repositories are: run `make corpus`, which downloads them", envCache)
	}
	return dir
}

func modules(t *testing.T) string  { return filepath.Join(cache(t), "mod") }
func npmBox(t *testing.T) string   { return filepath.Join(cache(t), "npm") }
func debFiles(t *testing.T) string { return filepath.Join(cache(t), "debian") }

// module is where the files of a module are.
func module(t *testing.T, at string) string {
	t.Helper()
	dir := filepath.Join(modules(t), at)
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("%v: run `make corpus`, which downloads it", err)
	}
	return dir
}

// noSource is a file of the folder of Debian's sources: why there are none.
const noSource = "none"

// debianSource unpacks a source package into the repository. A machine without apt, and
// another release of Debian, have none of this version, which the download has noted.
func (l *lab) debianSource(name string) {
	l.Helper()
	if why, err := os.ReadFile(filepath.Join(debFiles(l.T), noSource)); err == nil {
		l.Skip(string(why))
	}
	for _, s := range debianSources() {
		for file := range s.files {
			if s.name == name {
				l.must("tar", "-xf", filepath.Join(debFiles(l.T), file), "--strip-components=1", "--no-same-owner")
				return
			}
		}
	}
	l.Fatalf("no source %s", name)
}

// TestDownloads gets what is not there yet. .ci/run calls it alone, and again when it fails.
func TestDownloads(t *testing.T) {
	if os.Getenv(envFetch) == "" {
		t.Skip("only where it is asked for: " + envFetch)
	}
	t.Run("modules", fetchModules)
	t.Run("npm", fetchPackages)
	t.Run("debian", fetchSources)
}

func command(t *testing.T, dir string, env []string, args ...string) ([]byte, error) {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w\n%s", err, exit.Stderr)
	}
	return out, err
}

func fetchModules(t *testing.T) {
	env := []string{"GOMODCACHE=" + modules(t), "GOFLAGS=-modcacherw", "GONOSUMDB=*", "GOWORK=off", "GOTOOLCHAIN=local"}
	for at, sum := range goModules() {
		out, err := command(t, t.TempDir(), env, "go", "mod", "download", "-json", at)
		var got struct{ Dir, Sum, Error string }
		if jsonErr := json.Unmarshal(out, &got); jsonErr != nil || got.Error != "" {
			t.Errorf("%s: %v %s", at, err, got.Error)
			continue
		}
		if got.Sum != sum {
			t.Errorf("%s has the sum %s, want %s", at, got.Sum, sum)
			continue
		}
		need := t.TempDir() // go writes beside go.mod, and the cache stays as it is
		if err := os.CopyFS(need, os.DirFS(got.Dir)); err != nil {
			t.Fatal(err)
		}
		if _, err := command(t, need, env, "go", "mod", "download"); err != nil {
			t.Errorf("what %s needs: %v", at, err)
		}
	}
}

func fetchPackages(t *testing.T) {
	box := npmBox(t)
	lock, err := npmFiles.ReadFile("testdata/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	stamp := filepath.Join(box, "installed")
	if had, err := os.ReadFile(stamp); err == nil && string(had) == sumOf(lock) {
		return
	}
	if err := errors.Join(os.RemoveAll(box), os.MkdirAll(box, 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := npmFiles.ReadFile("testdata/" + name)
		if err == nil {
			err = os.WriteFile(filepath.Join(box, name), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// Not `npm ci`: it wants the programs of other systems in the lock file too.
	if _, err := command(t, box, nil, "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"); err != nil {
		t.Fatalf("npm install: %v", err)
	}
	if err := os.WriteFile(stamp, []byte(sumOf(lock)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// fetchSources asks apt, by lists of its own, so that it needs no right and changes nothing.
func fetchSources(t *testing.T) {
	dir := debFiles(t)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if fetched(dir) == nil {
		return
	}
	_ = os.Remove(filepath.Join(dir, noSource))
	why, err := askApt(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if why != "" {
		t.Log(why)
		if err := os.WriteFile(filepath.Join(dir, noSource), []byte(why), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := fetched(dir); err != nil {
		t.Fatal(err)
	}
}

// fetched looks at the sums of all files.
func fetched(dir string) error {
	for _, s := range debianSources() {
		for file, sum := range s.files {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				return err
			}
			if got := sumOf(text); got != sum {
				return fmt.Errorf("%s has the sum %s, want %s", file, got, sum)
			}
		}
	}
	return nil
}

// askApt downloads the sources. why says that this machine cannot have them.
func askApt(t *testing.T, dir string) (why string, err error) {
	if release, err := os.ReadFile("/etc/os-release"); err != nil || !strings.Contains(string(release), "VERSION_CODENAME=bookworm") {
		return "the pinned sources are those of Debian 12, which this machine is not", nil
	}
	list, err := os.ReadFile("/etc/apt/sources.list.d/debian.sources")
	if errors.Is(err, fs.ErrNotExist) {
		return "no /etc/apt/sources.list.d/debian.sources says where Debian is", nil
	}
	if err != nil {
		return "", err
	}
	apt := t.TempDir()
	lines := strings.ReplaceAll(string(list), "Types: deb\n", "Types: deb-src\n")
	conf := fmt.Sprintf("Dir::Etc::SourceList %q;\nDir::Etc::SourceParts \"/dev/null\";\nDir::State::Lists %q;\nDir::Cache %q;\nAPT::Sandbox::User \"\";\n",
		filepath.Join(apt, "corpus.sources"), filepath.Join(apt, "lists"), apt)
	err = errors.Join(os.MkdirAll(filepath.Join(apt, "lists/partial"), 0o755), os.MkdirAll(filepath.Join(apt, "archives/partial"), 0o755),
		os.WriteFile(filepath.Join(apt, "corpus.sources"), []byte(lines), 0o644), os.WriteFile(filepath.Join(apt, "apt.conf"), []byte(conf), 0o644))
	if err != nil {
		return "", err
	}
	env := []string{"APT_CONFIG=" + filepath.Join(apt, "apt.conf")}
	if _, err := command(t, dir, env, "apt-get", "update", "-qq"); err != nil {
		return "", fmt.Errorf("apt-get update: %w", err)
	}
	for _, s := range debianSources() {
		if _, err := command(t, dir, env, "apt-get", "source", "-qq", "--download-only", s.name+"="+s.version); err != nil {
			return "", fmt.Errorf("apt-get source %s=%s: %w", s.name, s.version, err)
		}
	}
	return "", nil
}
