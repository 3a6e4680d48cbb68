package fleet

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/ralph-loop/ralph"
)

// sealer encrypts what travels, with a key that all machines of the fleet have. Without a key it
// does nothing.
type sealer struct{ aead cipher.AEAD }

// KeyVar is the variable with the key.
const KeyVar = "RALPH_FLEET_KEY"

// newSealer reads a key: 32 bytes in base64.
func newSealer(word string) (sealer, error) {
	if word == "" {
		return sealer{}, nil
	}
	b, err := base64.StdEncoding.DecodeString(word)
	if err != nil || len(b) != 32 {
		return sealer{}, &ralph.Refusal{Why: KeyVar + " is no key: 32 bytes in base64 are one", Hint: "make one with `openssl rand -base64 32`, and give the same to the coordinator and to every worker", Kind: ralph.ErrUsage}
	}
	block, err := aes.NewCipher(b)
	if err != nil {
		return sealer{}, err
	}
	aead, err := cipher.NewGCM(block)
	return sealer{aead}, err
}

// magic begins what is sealed.
const magic = "ralph-sealed-1\n"

var errSealed = errors.New("what travelled is sealed with another key, or not at all: coordinator and workers need the same " + KeyVar)

func (k sealer) seal(b []byte) ([]byte, error) {
	if k.aead == nil {
		return b, nil
	}
	nonce := make([]byte, k.aead.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	return k.aead.Seal(append([]byte(magic), nonce...), nonce, b, []byte(magic)), nil
}

func (k sealer) open(b []byte) ([]byte, error) {
	sealed := len(b) >= len(magic) && string(b[:len(magic)]) == magic
	switch {
	case k.aead == nil && !sealed:
		return b, nil
	case k.aead == nil || !sealed || len(b) < len(magic)+k.aead.NonceSize():
		return nil, errSealed
	}
	b = b[len(magic):]
	out, err := k.aead.Open(nil, b[:k.aead.NonceSize()], b[k.aead.NonceSize():], []byte(magic))
	if err != nil {
		return nil, errSealed
	}
	return out, nil
}

// fingerprint tells keys apart without telling them.
func (k sealer) fingerprint() string {
	if k.aead == nil {
		return "none"
	}
	sum := sha256.Sum256(k.aead.Seal(nil, make([]byte, k.aead.NonceSize()), []byte("which key"), nil))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

// encoding names sealed payloads in Temporal.
const encoding = "binary/ralph-sealed"

// codec seals the payloads of Temporal.
type codec struct{ sealer }

// Encode implements converter.PayloadCodec.
func (c codec) Encode(list []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(list, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		b, err := proto.Marshal(p)
		if err == nil {
			b, err = c.seal(b)
		}
		return &commonpb.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encoding)}, Data: b}, err
	})
}

// Decode implements converter.PayloadCodec.
func (c codec) Decode(list []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(list, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != encoding {
			return nil, errSealed // in the clear it may be anybody's
		}
		b, err := c.open(p.GetData())
		if err != nil {
			return nil, err
		}
		out := new(commonpb.Payload)
		return out, proto.Unmarshal(b, out)
	})
}

func each(list []*commonpb.Payload, do func(*commonpb.Payload) (*commonpb.Payload, error)) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(list))
	for i, p := range list {
		q, err := do(p)
		if err != nil {
			return nil, fmt.Errorf("payload of Temporal: %w", err)
		}
		out[i] = q
	}
	return out, nil
}

// dataConverter is that of client and workers.
func (k sealer) dataConverter() converter.DataConverter {
	if k.aead == nil {
		return converter.GetDefaultDataConverter()
	}
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec{k})
}
