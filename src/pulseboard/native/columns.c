/* Columns: blocks of items that never move, so that adding a point copies no other. */
#include "columns.h"

#include <math.h>
#include <stdlib.h>

/* Blocks double from 4 items, so that a tag of a few points stays small, up to 32 Ki items:
 * 768 KiB of points, past which a larger block saves nothing. */
enum { FIRST_BLOCK = 4, LARGEST_BLOCK = 32768, SHORT_COLUMN = 4096 };

pb_block *pb_column_grow(pb_column *c, size_t item_size) {
    uint64_t cap = c->n < FIRST_BLOCK ? FIRST_BLOCK : c->n > LARGEST_BLOCK ? LARGEST_BLOCK : c->n;
    /* A file that is followed grows point by point: add an eighth, not the double. */
    if (c->trimmed && cap > 8 * FIRST_BLOCK) cap /= 8;
    pb_block *b = malloc(sizeof *b + cap * item_size);
    if (!b) return NULL;
    b->next = NULL;
    b->n = 0;
    b->cap = (uint32_t)cap;
    if (c->tail) c->tail->next = b;
    else c->head = b;
    c->tail = b;
    return b;
}

static void free_blocks(pb_block *b) {
    while (b) {
        pb_block *next = b->next;
        free(b);
        b = next;
    }
}

void pb_column_free(pb_column *c) {
    free_blocks(c->head);
    free(c->cuts);
}

/* A short column becomes one block of its exact size, a long one gives back the end of its last. */
void pb_column_trim(pb_column *c, size_t item_size) {
    pb_block *b = c->tail;
    c->trimmed = 1;
    if (c->stored_n || !b || (c->head == b && b->n == b->cap)) return;
    if (c->n <= SHORT_COLUMN && c->head != b) {
        pb_block *one = malloc(sizeof *one + c->n * item_size);
        if (!one) return;
        *one = (pb_block){NULL, (uint32_t)c->n, (uint32_t)c->n};
        char *to = (char *)(one + 1);
        for (const pb_block *from = c->head; from; from = from->next) {
            memcpy(to, from + 1, from->n * item_size);
            to += from->n * item_size;
        }
        free_blocks(c->head);
        c->head = c->tail = one;
        return;
    }
    pb_block *small = realloc(b, sizeof *b + b->n * item_size);
    if (!small) return;
    small->cap = small->n;
    if (c->head == b) c->head = small;
    else {
        pb_block *p = c->head;
        while (p->next != b) p = p->next;
        p->next = small;
    }
    c->tail = small;
}

int pb_column_cut(pb_column *c, int64_t below, int64_t restart) {
    if (c->cut_n == c->cut_cap) {
        uint32_t cap = c->cut_cap ? c->cut_cap * 2 : 4;
        pb_cut *cuts = realloc(c->cuts, cap * sizeof *cuts);
        if (!cuts) return 0;
        c->cuts = cuts;
        c->cut_cap = cap;
    }
    c->cuts[c->cut_n++] = (pb_cut){c->n, below, restart};
    return 1;
}

void pb_copy_points(const pb_column *c, uint64_t from, int64_t *step, double *wall, double *value) {
    for (const pb_block *b = c->head; b; b = b->next) {
        if (from >= b->n) {
            from -= b->n;
            continue;
        }
        const pb_point *p = (const pb_point *)(b + 1);
        uint32_t i = (uint32_t)from;
        from = 0;
        for (; i < b->n; i++) {
            *step++ = p[i].step;
            *wall++ = p[i].wall;
            *value++ = p[i].value;
        }
    }
}

void pb_copy_spans(const pb_column *c, int64_t *step, double *wall, uint64_t *offset, uint32_t *length, uint32_t *what) {
    for (const pb_block *b = c->head; b; b = b->next) {
        const pb_span *s = (const pb_span *)(b + 1);
        for (uint32_t i = 0; i < b->n; i++) {
            *step++ = s[i].step;
            *wall++ = s[i].wall;
            *offset++ = s[i].offset;
            *length++ = s[i].length;
            *what++ = s[i].what;
        }
    }
}

void pb_point_stats(const pb_column *c, pb_stats *out) {
    pb_stats s = {.min = INFINITY, .max = -INFINITY, .last = NAN, .last_wall = NAN, .first_wall = NAN};
    for (const pb_block *b = c->head; b; b = b->next) {
        const pb_point *p = (const pb_point *)(b + 1);
        for (uint32_t i = 0; i < b->n; i++) {
            double v = p[i].value;
            if (isfinite(v)) {
                s.min = v < s.min ? v : s.min;
                s.max = v > s.max ? v : s.max;
            } else if (isnan(v)) s.nan++;
            else s.inf++;
            int64_t step = p[i].step;
            if (!s.n) {
                s.first_step = s.min_step = s.max_step = step;
                s.first_wall = p[i].wall;
            }
            s.min_step = step < s.min_step ? step : s.min_step;
            s.max_step = step > s.max_step ? step : s.max_step;
            s.n++;
        }
        if (b->n) {
            s.last = p[b->n - 1].value;
            s.last_wall = p[b->n - 1].wall;
            s.last_step = p[b->n - 1].step;
        }
    }
    if (s.min > s.max) s.min = s.max = NAN;
    *out = s;
}
