/* Creating, resetting, trimming and freeing a log. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"
#include "crc32c.h"
#include "events.h"
#include "points.h"
#include "tags.h"

static void free_contents(pb_log *log) {
    for (uint32_t i = 0; i < log->tag_n; i++) {
        free(log->tags[i].name);
        free(log->tags[i].points.cuts);
        pb_points_free(&log->tags[i].points, log->pool);
        pb_column_free(&log->tags[i].spans);
    }
    for (uint32_t i = 0; i < log->plugin_n; i++) free(log->plugins[i]);
    free(log->tags);
    free(log->slots);
    free(log->plugins);
    free(log->restarts);
    free(log->notes);
    free(log->stored_path);
}

void pb_log_reset(pb_log *log, double version, int64_t most_recent_step) {
    free_contents(log);
    uint64_t generation = log->generation;
    pb_pool *pool = log->pool;
    size_t kept = offsetof(pb_log, tags); /* the locks stay: the caller may hold them */
    memset((char *)log + kept, 0, sizeof *log - kept);
    log->generation = generation + 1;
    log->pool = pool;
    log->scalars_plugin = -2;
    log->first_wall = log->last_wall = NAN;
    log->version = log->version_at_start = version;
    log->most_recent_step = log->most_recent_at_start = most_recent_step;
}

pb_log *pb_log_new(void) {
    pb_tags_init();
    pb_crc32c_init();
    pb_log *log = calloc(1, sizeof *log);
    if (!log) return NULL;
    pb_mutex_init(&log->lock);
    pb_mutex_init(&log->loading);
    pb_log_reset(log, 0, -1);
    log->generation = 0;
    return log;
}

void pb_log_free(pb_log *log) {
    if (!log) return;
    free_contents(log);
    pb_mutex_destroy(&log->lock);
    pb_mutex_destroy(&log->loading);
    free(log);
}

void pb_log_trim(pb_log *log) {
    pb_points_trim(log->tags, log->tag_n, log->pool);
    for (uint32_t i = 0; i < log->tag_n; i++) pb_column_trim(&log->tags[i].spans, sizeof(pb_span));
}

uint64_t pb_held_bytes(const pb_log *log) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < log->tag_n; i++) {
        sum += log->tags[i].points.cap * sizeof(pb_point);
        for (const pb_block *b = log->tags[i].spans.head; b; b = b->next) sum += sizeof *b + b->cap * sizeof(pb_span);
    }
    return sum;
}
