// The numbers of one line, and the hash of what is left of it.
#ifndef PB_TOKENS_H
#define PB_TOKENS_H

#include "scan.h"

// Each fills the scan's `tokens`, `token_values` and `hash` from its `line`. Return 0 if out of memory.
int pb_tokens_text(pb_scan *scan);
int pb_tokens_delimited(pb_scan *scan);
int pb_tokens_json(pb_scan *scan);

// Like a line's end, but a quoted cell may span lines.
const char *pb_quoted_line_end(const char *p, const char *end, int last, size_t *break_length);

#endif
