/* Tags in a hash table, and the short list of plugins. */
#include "tags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---------- tags: the hash is seeded, so that a file cannot choose collisions */

static uint64_t hash_seed;

static inline uint64_t fold(uint64_t a, uint64_t b) {
    __uint128_t m = (__uint128_t)a * b;
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static void seed_hash(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    FILE *f = fopen("/dev/urandom", "rb");
    if (!f || fread(&hash_seed, sizeof hash_seed, 1, f) != 1)
        hash_seed = fold((uint64_t)t.tv_nsec ^ (uintptr_t)&t, (uint64_t)t.tv_sec | 1);
    if (f) fclose(f);
}

void pb_tags_init(void) {
    static pb_once once = PB_ONCE;
    pb_do_once(&once, seed_hash);
}

static inline uint32_t hash_tag(pb_ptr p, uint32_t n) {
    uint64_t h = hash_seed ^ n, a = 0;
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8) h = fold(h ^ pb_ld64(p + i), 0x9E3779B97F4A7C15u);
    memcpy(&a, p + i, n - i);
    h = fold(h ^ a, 0xD6E8FEB86659FD93u);
    return (uint32_t)(h ^ h >> 32);
}

static int rehash(pb_log *log) {
    uint32_t n = log->slot_n ? log->slot_n * 2 : 32;
    uint32_t *slots = calloc(n, sizeof *slots);
    if (!slots) return 0;
    for (uint32_t i = 0; i < log->tag_n; i++) {
        uint32_t s = log->tags[i].hash & (n - 1);
        while (slots[s]) s = (s + 1) & (n - 1);
        slots[s] = i + 1;
    }
    free(log->slots);
    log->slots = slots;
    log->slot_n = n;
    return 1;
}

/* The slot of the tag with this name, or the empty slot where it belongs. */
static inline uint32_t find_slot(const pb_log *log, uint32_t hash, pb_ptr name, uint32_t len) {
    uint32_t s = hash & (log->slot_n - 1);
    for (; log->slots[s]; s = (s + 1) & (log->slot_n - 1)) {
        const pb_tag *t = &log->tags[log->slots[s] - 1];
        if (t->hash == hash && pb_tag_is(t, name, len)) break;
    }
    return s;
}

uint32_t pb_log_find(const pb_log *log, pb_ptr name, uint32_t len) {
    if (!log->slot_n) return UINT32_MAX;
    return log->slots[find_slot(log, hash_tag(name, len), name, len)] - 1; /* an empty slot is 0 */
}

uint32_t pb_tag_find_or_add(pb_log *log, pb_ptr name, uint32_t len) {
    uint32_t hash = hash_tag(name, len);
    if ((log->tag_n + 1) * 2 > log->slot_n && !rehash(log)) return UINT32_MAX;
    uint32_t s = find_slot(log, hash, name, len);
    if (log->slots[s]) return log->slots[s] - 1;
    if (log->tag_n == log->tag_cap) {
        uint32_t cap = log->tag_cap ? log->tag_cap * 2 : 8;
        pb_tag *tags = realloc(log->tags, cap * sizeof *tags);
        if (!tags) return UINT32_MAX;
        log->tags = tags;
        log->tag_cap = cap;
    }
    char *copy = malloc(len ? len : 1);
    if (!copy) return UINT32_MAX;
    memcpy(copy, name, len);
    log->tags[log->tag_n] = (pb_tag){.name = copy, .len = len, .hash = hash, .plugin = -1};
    log->slots[s] = ++log->tag_n;
    return log->tag_n - 1;
}

/* ---------- plugins */

/* A file can name any number of plugins. Those past this many share one name. */
enum { MAX_PLUGINS = 1000 };

int32_t pb_plugin_find_or_add(pb_log *log, pb_ptr name, uint64_t len) {
    static const char overflow_name[] = "(one of very many)";
    /* Names are stored as C strings. */
    const uint8_t *zero = memchr(name, 0, len);
    if (zero) len = (uint64_t)(zero - name);
    /* strncmp, not strlen: the cost depends on the length of this name, not of the others. */
    for (uint32_t i = 0; i < log->plugin_n; i++)
        if (!strncmp(log->plugins[i], (const char *)name, len) && !log->plugins[i][len]) return (int32_t)i;
    if (log->plugin_n > MAX_PLUGINS) return MAX_PLUGINS;
    if (log->plugin_n == MAX_PLUGINS) name = (pb_ptr)overflow_name, len = sizeof overflow_name - 1;
    if (log->plugin_n == log->plugin_cap) {
        uint32_t cap = log->plugin_cap ? log->plugin_cap * 2 : 4;
        char **plugins = realloc(log->plugins, cap * sizeof *plugins);
        if (!plugins) return -1;
        log->plugins = plugins;
        log->plugin_cap = cap;
    }
    char *copy = malloc(len + 1);
    if (!copy) return -1;
    memcpy(copy, name, len);
    copy[len] = 0;
    log->plugins[log->plugin_n] = copy;
    if (!strcmp(copy, "scalars")) log->scalars_plugin = (int32_t)log->plugin_n;
    return (int32_t)log->plugin_n++;
}
