// What llama.cpp's mtmd-helper.cpp needs of miniaudio's interface to compile: no sound is ever read. The module of Ollama lacks the real one.
#pragma once
#include <stddef.h>
typedef unsigned long long ma_uint64;
typedef int ma_result;
enum { MA_SUCCESS = 0, MA_ERROR = -1 };
enum ma_format { ma_format_f32 = 5 };
enum ma_encoding_format { ma_encoding_format_wav = 1 };
struct ma_decoder_config { int x; };
struct ma_decoder { int x; };
struct ma_encoder_config { int x; };
struct ma_encoder { int x; };
static inline ma_decoder_config ma_decoder_config_init(ma_format, int, int) { return {}; }
static inline ma_result ma_decoder_init_memory(const void *, size_t, const ma_decoder_config *, ma_decoder *) { return MA_ERROR; }
static inline ma_result ma_decoder_get_length_in_pcm_frames(ma_decoder *, ma_uint64 *) { return MA_ERROR; }
static inline ma_result ma_decoder_read_pcm_frames(ma_decoder *, void *, ma_uint64, ma_uint64 *) { return MA_ERROR; }
static inline void ma_decoder_uninit(ma_decoder *) {}
