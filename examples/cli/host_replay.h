/* Model `replay:FORMAT:PATH[?chunk=N]`: recorded HTTP bodies fed through a codec. */
#ifndef UAR_CLI_HOST_REPLAY_H
#define UAR_CLI_HOST_REPLAY_H

#include <uar/model.h>

/**
 * Open a recording: a file (one call) or a directory of 001.bin, 002.bin … without gap (one call each), read whole now.
 * Bodies are fed `chunk` bytes at a time, 0: at once. Past the end a call fails with UAR_E_SCRIPT_EXHAUSTED.
 * `out->destroy` frees the model.
 */
uar_status host_replay_model(uar_model *out, uar_codec_format format, const char *path, size_t chunk, uar_error *err);

#endif
