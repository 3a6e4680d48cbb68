// Package seal owns how what travels between the machines of a fleet is encrypted: the key that all
// of them have, AES-256-GCM, and what is refused.
//
// It does NOT own what travels, nor how Temporal has its payloads sealed (fleet).
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"

	"github.com/ralph-loop/ralph"
)

// Sealer encrypts what travels, with a key that all machines of the fleet have. Without a key it
// does nothing.
type Sealer struct{ aead cipher.AEAD }

// KeyVar is the variable with the key.
const KeyVar = "RALPH_FLEET_KEY"

// New reads a key: 32 bytes in base64.
func New(word string) (Sealer, error) {
	if word == "" {
		return Sealer{}, nil
	}
	b, err := base64.StdEncoding.DecodeString(word)
	if err != nil || len(b) != 32 {
		return Sealer{}, &ralph.Refusal{Why: KeyVar + " is no key: 32 bytes in base64 are one", Hint: "make one with `openssl rand -base64 32`, and give the same to the coordinator and to every worker", Kind: ralph.ErrUsage}
	}
	block, err := aes.NewCipher(b)
	if err != nil {
		return Sealer{}, err
	}
	aead, err := cipher.NewGCM(block)
	return Sealer{aead}, err
}

// magic begins what is sealed.
const magic = "ralph-sealed-1\n"

// ErrSealed is what was sealed with another key, or in another way than here.
var ErrSealed = errors.New("what travelled is sealed with another key, or not at all: coordinator and workers need the same " + KeyVar)

// Seal encrypts.
func (k Sealer) Seal(b []byte) ([]byte, error) {
	if k.aead == nil {
		return b, nil
	}
	nonce := make([]byte, k.aead.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	return k.aead.Seal(append([]byte(magic), nonce...), nonce, b, []byte(magic)), nil
}

// Open decrypts. Without a key what is sealed is ErrSealed; with one, what is not.
func (k Sealer) Open(b []byte) ([]byte, error) {
	sealed := len(b) >= len(magic) && string(b[:len(magic)]) == magic
	switch {
	case k.aead == nil && !sealed:
		return b, nil
	case k.aead == nil || !sealed || len(b) < len(magic)+k.aead.NonceSize():
		return nil, ErrSealed
	}
	b = b[len(magic):]
	out, err := k.aead.Open(nil, b[:k.aead.NonceSize()], b[k.aead.NonceSize():], []byte(magic))
	if err != nil {
		return nil, ErrSealed
	}
	return out, nil
}

// Fingerprint tells keys apart without telling them.
func (k Sealer) Fingerprint() string {
	if k.aead == nil {
		return "none"
	}
	sum := sha256.Sum256(k.aead.Seal(nil, make([]byte, k.aead.NonceSize()), []byte("which key"), nil))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

// Off reports that there is no key.
func (k Sealer) Off() bool { return k.aead == nil }
