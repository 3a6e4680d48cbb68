package fleet

import (
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/ralph-loop/ralph/internal/fleet/seal"
)

// encoding names sealed payloads in Temporal.
const encoding = "binary/ralph-sealed"

// codec seals the payloads of Temporal.
type codec struct{ seal.Sealer }

// Encode implements converter.PayloadCodec.
func (c codec) Encode(list []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(list, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		b, err := proto.Marshal(p)
		if err == nil {
			b, err = c.Seal(b)
		}
		return &commonpb.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encoding)}, Data: b}, err
	})
}

// Decode implements converter.PayloadCodec.
func (c codec) Decode(list []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(list, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != encoding {
			return nil, seal.ErrSealed // in the clear it may be anybody's
		}
		b, err := c.Open(p.GetData())
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
func dataConverter(k seal.Sealer) converter.DataConverter {
	if k.Off() {
		return converter.GetDefaultDataConverter()
	}
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec{k})
}
