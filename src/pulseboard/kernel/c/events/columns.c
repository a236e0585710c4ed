/* Columns of spans: blocks of items that never move, so that adding an item copies no other. */
#include "columns.h"

#include <stdlib.h>

/* Blocks double from 4 items, so that a tag with a few stays small, up to 32 Ki items: 1 MiB of spans. Larger blocks
 * save nothing. */
enum { MIN_BLOCK = 4, MAX_BLOCK = 32768, SHORT_COLUMN = 4096 };

pb_block *pb_column_grow(pb_column *c, size_t item_size) {
    uint64_t cap = c->n < MIN_BLOCK ? MIN_BLOCK : c->n > MAX_BLOCK ? MAX_BLOCK : c->n;
    /* A file that is being followed grows point by point: grow by an eighth instead of doubling. */
    if (c->trimmed && cap > 8 * MIN_BLOCK) cap /= 8;
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

/* A short column becomes one block of its exact size; a long one frees the unused end of its last block. */
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

void pb_copy_spans(const pb_column *c, int64_t *step, double *wall, uint64_t *offset, uint32_t *length,
                   uint32_t *field) {
    for (const pb_block *b = c->head; b; b = b->next) {
        const pb_span *s = (const pb_span *)(b + 1);
        for (uint32_t i = 0; i < b->n; i++) {
            *step++ = s[i].step;
            *wall++ = s[i].wall;
            *offset++ = s[i].offset;
            *length++ = s[i].length;
            *field++ = s[i].field;
        }
    }
}
