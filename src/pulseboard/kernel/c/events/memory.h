/* Memory that columns share with the arrays made from them. It is freed with its last user. */
#ifndef PB_MEMORY_H
#define PB_MEMORY_H

#include <stddef.h>

typedef struct {
    size_t users;    /* atomic */
    size_t packed_n; /* numbers of 8 bytes in the first part, if it holds several columns; otherwise 0 */
    void *parts[3];  /* from malloc, or NULL */
} pb_memory;

/* With one user: the caller. Takes over the parts. NULL: no memory. */
pb_memory *pb_memory_of(void *one, void *two, void *three);
void pb_memory_use(pb_memory *m);
void pb_memory_release(pb_memory *m); /* NULL is allowed */

/* Pieces from malloc that were used before, by size class: loading a file takes and returns thousands. */
enum { PB_POOL_CLASSES = 16 };
typedef struct {
    void *pieces[PB_POOL_CLASSES]; /* each begins with a pointer to the next */
    size_t held;                   /* bytes */
} pb_pool;

/* A piece of `n` bytes, always the same for one class. NULL: no memory. `pool` may be NULL. */
void *pb_pool_take(pb_pool *pool, unsigned class, size_t n);
void pb_pool_return(pb_pool *pool, unsigned class, size_t n, void *piece);
void pb_pool_free(pb_pool *pool);

#endif
