/* Shared memory with a count of users, and pools of small pieces. */
#include "memory.h"

#include <stdlib.h>

pb_memory *pb_memory_of(void *one, void *two, void *three) {
    pb_memory *m = malloc(sizeof *m);
    if (m) *m = (pb_memory){1, 0, {one, two, three}};
    return m;
}

void pb_memory_use(pb_memory *m) { __atomic_fetch_add(&m->users, 1, __ATOMIC_RELAXED); }

void pb_memory_release(pb_memory *m) {
    if (!m || __atomic_sub_fetch(&m->users, 1, __ATOMIC_ACQ_REL)) return;
    for (int i = 0; i < 3; i++) free(m->parts[i]);
    free(m);
}

/* A pool keeps at most this much. */
enum { MAX_POOL = 8 << 20 };

void *pb_pool_take(pb_pool *pool, unsigned class, size_t n) {
    if (!pool || !pool->pieces[class]) return malloc(n);
    void *piece = pool->pieces[class];
    pool->pieces[class] = *(void **)piece;
    pool->held -= n;
    return piece;
}

void pb_pool_return(pb_pool *pool, unsigned class, size_t n, void *piece) {
    if (!pool || pool->held + n > MAX_POOL) {
        free(piece);
        return;
    }
    *(void **)piece = pool->pieces[class];
    pool->pieces[class] = piece;
    pool->held += n;
}

void pb_pool_free(pb_pool *pool) {
    for (int i = 0; i < PB_POOL_CLASSES; i++)
        while (pool->pieces[i]) {
            void *piece = pool->pieces[i];
            pool->pieces[i] = *(void **)piece;
            free(piece);
        }
    pool->held = 0;
}
