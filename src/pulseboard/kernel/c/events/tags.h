/* The tags and plugins of a log, found by name. */
#ifndef PB_TAGS_H
#define PB_TAGS_H

#include "events.h"

/* Seeds the hash, once; later calls cost nothing. */
void pb_tags_init(void);

/* The index of a tag, which is added if it is new. UINT32_MAX: no memory. */
uint32_t pb_tag_find_or_add(pb_log *log, pb_ptr name, uint32_t len);

/* The index of a plugin, which is added if it is new. -1: no memory. */
int32_t pb_plugin_find_or_add(pb_log *log, pb_ptr name, uint64_t len);

/* Inlined for names of 8 bytes and more, which most are: a call takes as long as the comparison. */
static inline int pb_tag_is(const pb_tag *t, pb_ptr name, uint32_t len) {
    if (t->len != len) return 0;
    pb_ptr own = (pb_ptr)t->name;
    if (len < 8) return !memcmp(own, name, len);
    for (uint32_t i = 0; i + 8 < len; i += 8)
        if (pb_ld64(own + i) != pb_ld64(name + i)) return 0;
    return pb_ld64(own + len - 8) == pb_ld64(name + len - 8);
}

/* The tag of the next value; NULL: no memory. Training loops log the same tags in the same order, so the
 * tag after this one is nearly always the one that followed it last time: one comparison instead of a hash. */
static inline pb_tag *pb_next_tag(pb_log *log, pb_ptr name, uint64_t len) {
    if (len > UINT32_MAX) return NULL;
    uint32_t guess = log->last_tag < log->tag_n ? log->tags[log->last_tag].next : 0;
    uint32_t i = guess;
    if (guess >= log->tag_n || !pb_tag_is(&log->tags[guess], name, (uint32_t)len)) {
        i = pb_tag_find_or_add(log, name, (uint32_t)len);
        if (i == UINT32_MAX) {
            log->out_of_memory = 1;
            return NULL;
        }
        if (log->last_tag < log->tag_n) log->tags[log->last_tag].next = i;
    }
    log->last_tag = i;
    return &log->tags[i];
}

#endif
