package workspace

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/secrets"
)

var (
	secretName = lazyregexp.New(`(?i)key|token|secret|passw|passphrase|credential|auth|pwd$|_pat$`)
	harmless   = lazyregexp.New(`(?i)(model|_url|_uri|path|dir|home|root|region|host|profile|version|lang|locale|sock|file|name|mode|level|flags)$|^(pwd|oldpwd|term|shell|user)$`)
	gitAddress = lazyregexp.New(`(?m)^\s*(?:push)?url\s*=\s*(\S+)`)
)

// Redactor takes out what this repository's settings and this environment say is secret,
// and what looks like a secret. gitleaks's rules are read when something does.
func Redactor(environ []string, root string, c config.Config) *redact.Redactor {
	list := SecretVars(environ)
	value := map[string]string{}
	for _, kv := range environ {
		name, v, _ := strings.Cut(kv, "=")
		value[name] = v
	}
	add := func(name, v string) {
		if isSecret(name, v) || passed(name, v) {
			list = append(list, redact.Secret{Name: name, Value: v})
		}
	}
	for _, a := range c.Agents {
		for _, name := range a.PassEnv {
			add(name, value[name])
		}
		for name, v := range a.Env {
			add(name, v)
		}
	}
	for _, address := range c.Notify.Webhooks {
		list = append(list, inAddress("notify.webhooks", address, true)...)
	}
	if text, err := os.ReadFile(filepath.Join(root, ".git/config")); err == nil { // of a worktree it is elsewhere; its addresses are known by their form
		for _, m := range gitAddress.FindAllStringSubmatch(string(text), -1) {
			list = append(list, inAddress("remote", strings.Trim(m[1], `"`), false)...)
		}
	}
	// The same value may have two names: the first one in order holds.
	slices.SortStableFunc(list, func(a, b redact.Secret) int { return strings.Compare(a.Name, b.Name) })
	var rules secrets.Finder
	return redact.New(list, func(text string) []redact.Secret {
		var out []redact.Secret
		for _, f := range rules.Find(text) {
			out = append(out, redact.Secret{Name: f.Rule, Value: f.Secret})
		}
		return out
	})
}

// SecretVars are the variables whose names say that they are secret: checks get all of them.
func SecretVars(environ []string) []redact.Secret {
	var list []redact.Secret
	for _, kv := range environ {
		if name, v, _ := strings.Cut(kv, "="); isSecret(name, v) {
			list = append(list, redact.Secret{Name: name, Value: v})
		}
	}
	return list
}

// isSecret reports whether a variable is one by its name. A file's name is no secret.
func isSecret(name, value string) bool {
	if !secretName.MatchString(name) || len(value) < redact.Least {
		return false
	}
	if filepath.IsAbs(value) {
		_, err := os.Lstat(value)
		return err != nil
	}
	return true
}

// passed reports whether a variable that the settings give to agents is a secret by its
// value: a word of some length that is no path, no address and nothing well known.
func passed(name, value string) bool {
	const least = 16
	return len(value) >= least && !harmless.MatchString(name) && !strings.ContainsAny(value, " \t\n/:,") &&
		strings.ContainsAny(value, "0123456789") && redact.Suspicious(value+" ")
}

// inAddress are the secrets in an address: its credentials and, where it is told to nobody,
// what follows its host.
func inAddress(name, address string, whole bool) []redact.Secret {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	var list []redact.Secret
	add := func(v string) { list = append(list, redact.Secret{Name: name, Value: v}) }
	if u.User != nil {
		word, has := u.User.Password()
		add(word)
		if !has && u.Scheme != "ssh" {
			add(u.User.Username())
		}
	}
	if whole {
		add(strings.TrimPrefix(u.RequestURI(), "/"))
		for _, values := range u.Query() {
			for _, v := range values {
				add(v)
			}
		}
		const segment = 16 // shorter ones are words
		for part := range strings.SplitSeq(u.Path, "/") {
			if len(part) >= segment {
				add(part)
			}
		}
	}
	return list
}

// RedactorOf is redactor for a command that may never need one.
func RedactorOf(env Env, root string) func() *redact.Redactor {
	return sync.OnceValue(func() *redact.Redactor {
		c, err := LoadConfig(env, root, nil)
		if err != nil {
			c = config.Config{} // what is wrong with it is said by whoever needs it; the environment counts all the same
		}
		return Redactor(env.Environ, root, c)
	})
}

// RedactFacts is journal.Options.Redact.
func RedactFacts(by func() *redact.Redactor) func(ralph.Fact) ralph.Fact {
	return func(f ralph.Fact) ralph.Fact { return redact.Value(by(), f) }
}
