/*
 * Standard output: whole writes, and what to do when nobody reads any more.
 *
 * SIGPIPE is ignored by main; a closed pipe shows up here as OUTPUT_CLOSED and ends the program quietly.
 */
#ifndef UAR_CLI_OUTPUT_H
#define UAR_CLI_OUTPUT_H

#include "app.h"

#include <cjson/cJSON.h>

/* Write all of it at once; false if that failed, now or before. One thread at a time. */
bool output_bytes(const char *bytes, size_t len);
bool output_text(const char *text);
/* Print as one line of JSON; frees `value`. */
bool output_json(cJSON *value);
/* 0: fine so far; else the errno of the first failure. */
int output_fault(void);
/* `code`, unless writing failed: a closed pipe is silent, anything else is reported. */
int output_close(const app *a, int code);

#endif
