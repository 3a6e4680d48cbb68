//go:build e2e

package e2e

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// gguf is a file with the weights of a model, as llama.cpp reads it.
type gguf struct {
	meta, infos, data []byte
	pairs, tensors    uint64
}

func appendText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}

// set adds what is said of the model. The kinds have the numbers that the format gives them.
func (g *gguf) set(key string, value any) {
	le := binary.LittleEndian
	g.pairs++
	b := appendText(g.meta, key)
	list := func(kind uint32, n int) { b = le.AppendUint64(le.AppendUint32(le.AppendUint32(b, 9), kind), uint64(n)) }
	fixed := func(v any) { b, _ = binary.Append(b, le, v) }
	switch v := value.(type) {
	case uint32:
		b = le.AppendUint32(le.AppendUint32(b, 4), v)
	case float32:
		b = le.AppendUint32(b, 6)
		fixed(v)
	case bool:
		b = le.AppendUint32(b, 7)
		fixed(v)
	case string:
		b = appendText(le.AppendUint32(b, 8), v)
	case []string:
		list(8, len(v))
		for _, s := range v {
			b = appendText(b, s)
		}
	case []float32:
		list(6, len(v))
		fixed(v)
	case []int32:
		list(5, len(v))
		fixed(v)
	default:
		panic(fmt.Sprintf("no kind of the format is written for %T", value))
	}
	g.meta = b
}

// aligned is how many bytes more make n a multiple of what tensors are aligned to.
func aligned(n int) []byte { return make([]byte, (32-n%32)%32) }

// tensor adds numbers; dims are innermost first.
func (g *gguf) tensor(name string, next func() float32, dims ...uint64) {
	le := binary.LittleEndian
	g.tensors++
	g.infos = le.AppendUint32(appendText(g.infos, name), uint32(len(dims)))
	n := uint64(1)
	for _, d := range dims {
		n *= d
		g.infos = le.AppendUint64(g.infos, d)
	}
	g.infos = le.AppendUint64(le.AppendUint32(g.infos, 0), uint64(len(g.data))) // as 32 bit floats, from there
	for range n {
		g.data, _ = binary.Append(g.data, le, next())
	}
	g.data = append(g.data, aligned(len(g.data))...)
}

func (g *gguf) bytes() []byte {
	le := binary.LittleEndian
	b := le.AppendUint32([]byte("GGUF"), 3)
	b = le.AppendUint64(le.AppendUint64(b, g.tensors), g.pairs)
	b = append(append(b, g.meta...), g.infos...)
	return append(append(b, aligned(len(b))...), g.data...)
}

// tinyModel is a llama model of random weights: one layer, 64 wide, a token for each byte and for each printable letter, a third
// of a megabyte. The same seed makes the same file. What it says is noise; where a schema constrains it, noise of that shape. Each
// token is alike in its first number, which speaks for a quotation mark and for the end: words stay short, and tests too.
func tinyModel(seed uint64) []byte {
	const dim, heads, wide, context = 64, 4, 128, 32_768
	var g gguf
	tokens, kinds := []string{"<unk>", "<s>", "</s>"}, []int32{2, 3, 3} // unknown, control
	for i := range 256 {
		tokens, kinds = append(tokens, fmt.Sprintf("<0x%02X>", i)), append(kinds, 6) // a byte
	}
	for c := ' '; c < 127; c++ {
		s := string(c)
		if c == ' ' {
			s = "\u2581" // as the tokenizer writes a space
		}
		tokens, kinds = append(tokens, s), append(kinds, 1)
	}
	scores := make([]float32, len(tokens))
	for i := range scores {
		scores[i] = -float32(i)
	}
	vocabulary := uint64(len(tokens))
	for _, kv := range []struct {
		key   string
		value any
	}{
		{"general.architecture", "llama"},
		{"general.name", "tiny"},
		{"general.file_type", uint32(0)},
		{"llama.context_length", uint32(context)},
		{"llama.embedding_length", uint32(dim)},
		{"llama.block_count", uint32(1)},
		{"llama.feed_forward_length", uint32(wide)},
		{"llama.attention.head_count", uint32(heads)},
		{"llama.attention.head_count_kv", uint32(heads)},
		{"llama.attention.layer_norm_rms_epsilon", float32(1e-5)},
		{"llama.rope.dimension_count", uint32(dim / heads)},
		{"llama.rope.freq_base", float32(10000)},
		{"llama.vocab_size", uint32(vocabulary)},
		{"tokenizer.ggml.model", "llama"},
		{"tokenizer.ggml.pre", "default"},
		{"tokenizer.ggml.tokens", tokens},
		{"tokenizer.ggml.scores", scores},
		{"tokenizer.ggml.token_type", kinds},
		{"tokenizer.ggml.unknown_token_id", uint32(0)},
		{"tokenizer.ggml.bos_token_id", uint32(1)},
		{"tokenizer.ggml.eos_token_id", uint32(2)},
		{"tokenizer.ggml.add_bos_token", true},
		{"tokenizer.ggml.add_eos_token", false},
	} {
		g.set(kv.key, kv.value)
	}
	random := rand.New(rand.NewPCG(seed, 0))
	any32 := func() float32 { return float32(random.NormFloat64() * 0.1) }
	one := func() float32 { return 1 }
	var n int
	row := func(first func(token int) float32) func() float32 { // any numbers, but the first of each token
		n = -1
		return func() float32 {
			if n++; n%dim == 0 {
				return first(n / dim)
			}
			return any32()
		}
	}
	g.tensor("token_embd.weight", row(func(int) float32 { return 1 }), dim, vocabulary)
	g.tensor("blk.0.attn_norm.weight", one, dim)
	for _, name := range []string{"q", "k", "v", "output"} {
		g.tensor("blk.0.attn_"+name+".weight", any32, dim, dim)
	}
	g.tensor("blk.0.ffn_norm.weight", one, dim)
	g.tensor("blk.0.ffn_gate.weight", any32, dim, wide)
	g.tensor("blk.0.ffn_up.weight", any32, dim, wide)
	g.tensor("blk.0.ffn_down.weight", any32, wide, dim)
	g.tensor("output_norm.weight", one, dim)
	g.tensor("output.weight", row(func(token int) float32 {
		if token == 2 || token == 3+256+'"'-' ' {
			return 0.5
		}
		return 0
	}), dim, vocabulary)
	return g.bytes()
}
