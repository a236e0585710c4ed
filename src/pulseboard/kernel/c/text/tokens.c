// The numbers of one line, and the hash of what is left of it. See scan.h for what a shape is.
#include "tokens.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "date.h"
#include "number.h"

// Nobody logs rows of more cells; a longer quoted cell is a stray quote.
enum { MAX_TOKENS = 1 << 16, MAX_QUOTED = 128 * 1024 };

enum { SKIP = 0, SPACE = 1, DIGIT = 2, LETTER = 3, OTHER = 4 };

static int kind_of(unsigned char c) {
    if (c >= '0' && c <= '9') return DIGIT;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_') return LETTER;
    if (c == ' ' || c == '\t' || c == '\v' || c == '\f') return SPACE;
    return c >= 32 ? OTHER : SKIP;  // control characters never show; 1 to 7 mark numbers and strings in a hash
}

// FNV-1a, finished with a multiply-shift so that the low bits are usable as an index.
static inline uint64_t mix(uint64_t hash, unsigned char c) { return (hash ^ c) * 0x100000001b3ULL; }

static uint64_t finish(uint64_t hash) {
    hash ^= hash >> 32;
    hash *= 0x9e3779b97f4a7c15ULL;
    return hash ^ (hash >> 29);
}

static int add(pb_scan *scan, int type, const char *start, const char *end, double value) {
    if (scan->token_count == MAX_TOKENS) return 1;
    if (scan->token_count == scan->token_capacity) {
        uint32_t capacity = scan->token_capacity ? 2 * scan->token_capacity : 64;
        pb_token *tokens = realloc(scan->tokens, capacity * sizeof *tokens);
        if (!tokens) return 0;
        scan->tokens = tokens;
        double *values = realloc(scan->token_values, capacity * sizeof *values);
        if (!values) return 0;
        scan->token_values = values;
        scan->token_capacity = capacity;
    }
    scan->tokens[scan->token_count] = (pb_token){(uint32_t)(start - scan->line), (uint32_t)(end - scan->line), type};
    scan->token_values[scan->token_count++] = value;
    return 1;
}

// ---- free text

// 10,270 or 1,234,567.5: groups of three digits. Returns bytes used, or 0 if it is not written so.
static size_t grouped(const char *p, const char *end, double *value) {
    const char *q = p;
    double whole = 0;
    while (q < end && q - p < 3 && kind_of((unsigned char)*q) == DIGIT) whole = 10 * whole + (*q++ - '0');
    int groups = 0;
    while (end - q >= 4 && *q == ',' && pb_two_digits(q + 1) >= 0 && kind_of((unsigned char)q[3]) == DIGIT &&
           (end - q == 4 || kind_of((unsigned char)q[4]) != DIGIT)) {
        whole = 1000 * whole + 10 * pb_two_digits(q + 1) + (q[3] - '0');
        q += 4;
        groups++;
    }
    if (!groups || groups > 4) return 0;
    double fraction = 0;
    if (end - q > 1 && *q == '.' && kind_of((unsigned char)q[1]) == DIGIT) q += pb_number(q, end, &fraction);
    *value = whole + fraction;
    return (size_t)(q - p);
}

// An ANSI color or cursor sequence at `p`. Returns its length, or 0.
static size_t escape(const char *p, const char *end) {
    if (end - p < 2 || p[0] != 0x1b || p[1] != '[') return 0;
    const char *q = p + 2;
    while (q < end && ((*q >= '0' && *q <= '9') || *q == ';' || *q == '?')) q++;
    return q < end ? (size_t)(q + 1 - p) : (size_t)(q - p);
}

static int is_bar(char c) { return c != '\0' && strchr("#=.-_>*~+", c) != NULL; }

// Whether a name continues after the slash at `p` with digits that begin a word, as in acc/30_degree.
static int continues_name(const char *p, const char *end) {
    if (*p++ != '/') return 0;
    const char *digits = p;
    while (p < end && kind_of((unsigned char)*p) == DIGIT) p++;
    return p > digits && p + 1 < end && *p == '_' && kind_of((unsigned char)p[1]) == LETTER;
}

int pb_tokens_text(pb_scan *scan) {
    const char *p = scan->line, *end = p + scan->line_length;
    uint64_t hash = 0xcbf29ce484222325ULL;
    char before = ' ';  // the character before, white space as one blank
    scan->token_count = 0;
    while (p < end) {
        unsigned char c = (unsigned char)*p;
        int kind = kind_of(c);
        if (kind == LETTER) {
            double word;
            size_t used = before == '_' ? 0 : pb_number_word(p, end, &word);
            if (used) {
                if (!add(scan, PB_TOKEN_NUMBER, p, p + used, word)) return 0;
                hash = mix(hash, 1);
                before = p[used - 1];
                p += used;
                continue;
            }
            // A name keeps its digits: conv2d, layer.0.weight, mAP@0.5, acc/30_degree.
            while (p < end) {
                kind = kind_of((unsigned char)*p);
                int after = p + 1 < end ? kind_of((unsigned char)p[1]) : SKIP;
                int joined = (*p == '.' && (after == DIGIT || after == LETTER)) || (*p == '@' && after == DIGIT) ||
                             continues_name(p, end);
                if (kind != LETTER && kind != DIGIT && !joined) break;
                hash = mix(hash, (unsigned char)*p++);
            }
            before = 'a';
            continue;
        }
        int next = p + 1 < end ? kind_of((unsigned char)p[1]) : SKIP;
        int after_word = before == 'a' || kind_of((unsigned char)before) == DIGIT;
        int point = c == '.' && next == DIGIT && !after_word;
        int sign = (c == '-' || c == '+') && !after_word && before != ')' && before != c &&
                   (next == DIGIT || (p + 2 < end && p[1] == '.' && kind_of((unsigned char)p[2]) == DIGIT));
        int signed_word = (c == '-' || c == '+') && !after_word && next == LETTER;
        if (kind == DIGIT || point || sign) {
            double value = 0;
            int type = PB_TOKEN_NUMBER;
            size_t used = kind == DIGIT ? pb_date(p, end, &value, &type) : 0;
            if (!used) type = PB_TOKEN_NUMBER;
            if (!used && kind == DIGIT) used = grouped(p, end, &value);
            if (!used) {
                used = pb_number(p + sign, end, &value) + (size_t)sign;
                if (c == '-') value = -value;
            }
            if (!add(scan, type, p, p + used, value)) return 0;
            hash = mix(hash, (unsigned char)(type + 1));
            p += used;
            before = '0';
            continue;
        }
        if (signed_word) {
            double word;
            size_t used = pb_number_word(p + 1, end, &word);
            if (used) {
                if (!add(scan, PB_TOKEN_NUMBER, p, p + 1 + used, c == '-' ? -word : word)) return 0;
                hash = mix(hash, 1);
                p += 1 + used;
                before = '0';
                continue;
            }
        }
        size_t skipped = c == 0x1b ? escape(p, end) : 0;
        if (skipped) {
            p += skipped;
            continue;
        }
        if (kind == SPACE) {
            if (before != ' ') hash = mix(hash, ' ');
            before = ' ';
            p++;
            continue;
        }
        if (c == 0xe2 && end - p >= 3 && (unsigned char)p[1] == 0x96) {  // block elements: a progress bar
            if (before != '\x02') hash = mix(hash, 4);
            before = '\x02';
            p += 3;
            continue;
        }
        // A run of one character counts once, so that a bar of any length has one shape.
        if (kind != SKIP && !(is_bar((char)c) && before == (char)c)) hash = mix(hash, c);
        if (kind != SKIP) before = (char)c;
        p++;
    }
    scan->hash = finish(hash);
    return 1;
}

// ---- JSON

// The closing quote of a string that opens at `p`, or NULL.
static const char *string_end(const char *p, const char *end) {
    for (p++; p < end; p++) {
        if (*p == '\\') p++;
        else if (*p == '"') return p;
    }
    return NULL;
}

// The bracket that closes the array at `p`, or NULL.
static const char *array_end(const char *p, const char *end) {
    int depth = 0;
    for (; p < end; p++) {
        if (*p == '"') {
            if (!(p = string_end(p, end))) return NULL;
        } else if (*p == '[') {
            depth++;
        } else if (*p == ']' && !--depth) {
            return p;
        }
    }
    return NULL;
}

// A string that stands for a value: a date, or the word nan or inf, gives a token. Other texts do not matter.
static int add_string(pb_scan *scan, const char *p, const char *end, uint64_t *hash) {
    double value = 0;
    const char *q = p + (p < end && (*p == '-' || *p == '+'));
    int type;
    if (p < end && pb_date(p, end, &value, &type) == (size_t)(end - p)) {
        *hash = mix(*hash, (unsigned char)(type + 1));
        return add(scan, type, p, end, value);
    }
    if (q < end && pb_number_word(q, end, &value) == (size_t)(end - q)) {
        *hash = mix(*hash, 4);
        return add(scan, PB_TOKEN_NUMBER, p, end, *p == '-' ? -value : value);
    }
    *hash = mix(*hash, 5);
    return 1;
}

int pb_tokens_json(pb_scan *scan) {
    const char *p = scan->line, *end = p + scan->line_length;
    uint64_t hash = 0xcbf29ce484222325ULL;
    int arrays = 1;
    scan->token_count = 0;
    while (p < end) {
        char c = *p;
        if (c == '"') {
            const char *quote = string_end(p, end), *after = quote ? quote + 1 : end;
            while (after < end && kind_of((unsigned char)*after) == SPACE) after++;
            if (quote && after < end && *after == ':') {  // a name: all of it belongs to the shape
                for (const char *q = p; q < quote; q++) hash = mix(hash, (unsigned char)*q);
            } else if (quote && !add_string(scan, p + 1, quote, &hash)) {
                return 0;
            } else if (!quote) {
                hash = mix(hash, 6);
            }
            p = quote ? quote + 1 : end;
            continue;
        }
        if (c == '[' && arrays) {
            const char *close = array_end(p, end);
            hash = mix(hash, 7);
            arrays = close != NULL;  // after one that never ends, brackets are not searched again
            p = close ? close + 1 : p + 1;
            continue;
        }
        int negative = c == '-';
        const char *q = p + negative;
        double value = 0;
        size_t used = q < end ? pb_number(q, end, &value) : 0;
        if (!used && q < end) used = pb_number_word(q, end, &value);
        if (used) {
            hash = mix(hash, 1);
            if (!add(scan, PB_TOKEN_NUMBER, p, q + used, negative ? -value : value)) return 0;
            p = q + used;
            continue;
        }
        if (kind_of((unsigned char)c) != SPACE) hash = mix(hash, (unsigned char)c);
        p++;
    }
    scan->hash = finish(hash);
    return 1;
}

// ---- cells

static int is_missing(const char *p, size_t n) {
    static const char *const WORDS[] = {"na", "n/a", "none", "null", "-", "nil"};
    if (!n) return 1;
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (strlen(WORDS[i]) == n && !strncasecmp(p, WORDS[i], n)) return 1;
    return 0;
}

// The whole cell as a number. 1,5 is one and a half where the delimiter is not a comma.
static int number_cell(const char *p, const char *end, int decimal_comma, double *value) {
    int negative = p < end && *p == '-';
    const char *q = p + (p < end && (*p == '-' || *p == '+'));
    if (q == end) return 0;
    size_t used = kind_of((unsigned char)*q) == LETTER ? pb_number_word(q, end, value) : pb_number(q, end, value);
    if (used && decimal_comma && q + used < end && q[used] == ',') {
        char buffer[64];
        size_t n = (size_t)(end - q);
        if (n >= sizeof buffer || memchr(q, '.', n)) return 0;
        memcpy(buffer, q, n);
        buffer[used] = '.';
        used = pb_number(buffer, buffer + n, value);
    }
    if (!used || q + used != end) return 0;
    if (negative) *value = -*value;
    return 1;
}

static int add_cell(pb_scan *scan, const char *p, const char *end, uint64_t *hash) {
    while (p < end && kind_of((unsigned char)*p) == SPACE) p++;
    while (p < end && kind_of((unsigned char)end[-1]) == SPACE) end--;
    double value = 0;
    int type = PB_TOKEN_WORD, zone;
    if (number_cell(p, end, scan->decimal_comma, &value)) type = PB_TOKEN_NUMBER;
    else if (is_missing(p, (size_t)(end - p))) type = PB_TOKEN_EMPTY;
    else if (p < end && pb_date(p, end, &value, &zone) == (size_t)(end - p)) type = zone;
    *hash = mix(*hash, (unsigned char)(type + 1));
    return add(scan, type, p, end, value);
}

// The closing quote of a quoted cell that opens at `p`, or NULL.
static const char *closing_quote(const char *p, const char *end) {
    for (p++; p < end; p++)
        if (*p == '"') {
            if (p + 1 < end && p[1] == '"') p++;
            else return p;
        }
    return NULL;
}

// Lines of nothing but words are headers, and not rows that differ in a text: what they say is a part of their shape.
static uint64_t with_words(const pb_scan *scan, uint64_t hash) {
    for (uint32_t i = 0; i < scan->token_count; i++)
        if (scan->tokens[i].type != PB_TOKEN_WORD) return hash;
    for (size_t i = 0; i < scan->line_length; i++) hash = mix(hash, (unsigned char)scan->line[i]);
    return hash;
}

int pb_tokens_delimited(pb_scan *scan) {
    const char *p = scan->line, *end = p + scan->line_length;
    uint64_t hash = 0xcbf29ce484222325ULL;
    scan->token_count = 0;
    for (;;) {
        const char *start = p;
        while (start < end && *start == ' ') start++;
        // Most cells are plain numbers.
        double value;
        int negative = start < end && *start == '-';
        size_t used = pb_number(start + negative, end, &value);
        const char *after = start + negative + used;
        if (used && (after == end || *after == scan->delimiter)) {
            hash = mix(hash, PB_TOKEN_NUMBER + 1);
            if (!add(scan, PB_TOKEN_NUMBER, start, after, negative ? -value : value)) return 0;
            if (after == end) break;
            p = after + 1;
            continue;
        }
        const char *quote = start < end && *start == '"' ? closing_quote(start, end) : NULL;
        const char *search = quote ? quote + 1 : p;
        const char *stop = search < end ? memchr(search, scan->delimiter, (size_t)(end - search)) : NULL;
        if (!stop) stop = end;
        if (!(quote ? add_cell(scan, start + 1, quote, &hash) : add_cell(scan, p, stop, &hash))) return 0;
        if (stop == end) break;
        p = stop + 1;
    }
    if (scan->token_count == 1 && scan->tokens[0].type == PB_TOKEN_EMPTY) scan->token_count = 0;  // a blank line
    scan->hash = finish(scan->token_count > 1 ? with_words(scan, hash) : hash);
    return 1;
}

const char *pb_quoted_line_end(const char *p, const char *end, int last, size_t *break_length) {
    const char *limit = end - p > MAX_QUOTED ? p + MAX_QUOTED : end;
    int quoted = 0;
    const char *first_break = NULL;
    for (const char *q = p; q < limit; q++) {
        if (*q == '"') quoted = !quoted;
        if (*q != '\n' && *q != '\r') continue;
        if (*q == '\r' && q + 1 == end && !last) return NULL;
        size_t length = *q == '\r' && q + 1 < end && q[1] == '\n' ? 2 : 1;
        if (!quoted) {
            *break_length = length;
            return q;
        }
        if (!first_break) first_break = q;
    }
    // A quote that is never closed is a stray one: the line ends at its first break.
    if (first_break && (limit < end || last)) {
        *break_length = *first_break == '\r' && first_break + 1 < end && first_break[1] == '\n' ? 2 : 1;
        return first_break;
    }
    *break_length = 0;
    return last && p < end ? end : NULL;
}
