/* Event files to columns.
 *
 * One record on disk, little-endian:
 *   u64  length
 *   u32  masked CRC32C of length
 *   ...  an Event message, `length` bytes
 *   u32  masked CRC32C of the message
 *
 * A pb_log holds what one file has told so far: per tag, a column of scalar points and a
 * column of spans (where in the file everything else lies). Bytes are fed in any pieces;
 * the log keeps its place. No function here keeps a pointer into what it was fed, and none
 * trusts a length that a file states. */
#ifndef PB_EVENTS_H
#define PB_EVENTS_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire.h"

/* ---------- columns */

typedef struct { int64_t step; double wall; double value; } pb_point;

/* Where a Summary.Value (or a graph) lies in the file. `what` is the field of Summary.Value
 * that holds it (4 image, 5 histogram, 6 audio, 8 tensor, 3 old histogram), 0 for a value that
 * is all metadata, or 100 + the field of Event (104 graph, 106 log line, 108 run metadata, 109 meta graph). */
typedef struct { int64_t step; double wall; uint64_t offset; uint32_t length; uint32_t what; } pb_span;

/* A place where a restart orphaned what came before: of the first `at` items, those stay whose
 * step is below a limit: `below`, or where `restart` >= 0, the least step of restarts[restart..]. */
typedef struct { uint64_t at; int64_t below; int64_t restart; } pb_cut;

typedef struct pb_block { struct pb_block *next; uint32_t n, cap; } pb_block; /* items follow */

typedef struct {
    pb_block *head, *tail;
    uint64_t n;                    /* items in all blocks, and those that still lie in an index */
    uint64_t stored_n;             /* how many do, before those of the blocks (index.h) */
    uint64_t stored_at, stored_sum;
    uint64_t restarts_seen;        /* cuts cover restarts[0 .. restarts_seen) */
    pb_cut *cuts;
    uint32_t cut_n, cut_cap;
    int trimmed;                   /* read to its end once: what comes now comes bit by bit */
} pb_column;

typedef struct {
    char *name;                    /* not terminated: `len` bytes as the file has them */
    uint32_t len, hash;
    uint32_t next;                 /* the tag that came after this one last time */
    int32_t plugin;                /* of the first metadata seen; -1 while none was */
    uint64_t bytes;                /* of the file that this tag takes, framing included */
    uint64_t meta_offset;          /* of that first metadata */
    uint32_t meta_length;
    uint64_t cut_by;               /* the event (counted from 1) whose falling step cut the columns last */
    uint32_t whats;                /* which kinds of span: bit `what`, or bit `what - 84` from 100 on */
    pb_column points, spans;
} pb_tag;

/* ---------- what can be wrong, split by what the reader does next */

enum {
    PB_END_CLEAN = 0,      /* read to the last byte */
    PB_END_TORN = 1,       /* the last record is not whole yet: come back later */
    PB_END_BAD_LENGTH = 2, /* a length fails its checksum: nothing after it can be found */
    PB_END_HUGE = 3,       /* a length with a good checksum that no writer can mean */
    PB_END_ERRNO = 4,      /* the system would not read it: see error */
    PB_END_NOT_A_FILE = 5, /* a pipe, a device, a directory */
    PB_END_NO_MEMORY = 6,
};

enum { PB_NOTE_PAYLOAD = 1, PB_NOTE_EVENT = 2 }; /* one record skipped: bad checksum, not an Event */
typedef struct { uint64_t offset, length; uint32_t code, got, want; } pb_note;

/* No message is longer: protobuf's own limit. */
#define PB_MAX_RECORD 0x7FFFFFFFull
/* Notes kept in full; past that they are only counted. */
enum { PB_MAX_NOTES = 64 };

typedef struct { int64_t step; double wall; uint64_t offset; } pb_restart;

typedef struct {
    pthread_mutex_t lock;          /* held while columns change, let go between pieces of a file */
    pthread_mutex_t loading;       /* held from the first piece to the last; taken before `lock` */
    /* A reset clears all from here on. */
    pb_tag *tags;
    uint32_t tag_n, tag_cap;
    uint32_t *slots;               /* tag index + 1, open addressing */
    uint32_t slot_n;
    uint32_t last;                 /* the tag of the value before this one */
    char **plugins;
    uint32_t plugin_n, plugin_cap;
    int32_t scalars;               /* index of the plugin of that name; -2 while there is none */
    pb_restart *restarts;
    uint64_t restart_n, restart_cap;
    pb_note *notes;                /* the first PB_MAX_NOTES */
    uint64_t note_n;               /* all of them */

    uint64_t offset;               /* of the next record: all before it has been taken */
    uint64_t events, points, framing_bytes;
    double first_wall, last_wall;
    int64_t last_step;             /* of the last event with values */
    double version;                /* of the version record in force; 0 where there is none yet */
    int64_t most_recent_step;
    double version_at_start;       /* what the files before this one left behind */
    int64_t most_recent_at_start;
    int unversioned;               /* took a summary or a session mark while no version of 2 or more was in force */
    int out_of_memory;

    int end, error;
    uint64_t size;                 /* of the file when last looked at */
    int64_t mtime_ns;
    dev_t dev;
    ino_t ino;
    uint64_t generation;           /* counts starts from zero: a file was replaced or truncated */
    uint8_t seal[16];              /* the bytes before `offset`, to notice a rewritten file */
    uint32_t seal_n;
    uint8_t opening[64];           /* the file's first bytes, for the same */
    uint32_t opening_n;
    char *stored_path;             /* the index that columns still lie in; NULL where none do */
    uint64_t stored_dev, stored_ino;
} pb_log;

pb_log *pb_log_new(void);
void pb_log_free(pb_log *log);
/* Forgets everything and starts anew, as if the files before it had left this state. */
void pb_log_reset(pb_log *log, double version, int64_t most_recent_step);

/* A tag or a plugin that an index tells of; NULL or 0 where it cannot be, or there is no memory. */
pb_tag *pb_log_add_tag(pb_log *log, pb_ptr name, uint32_t len);
int pb_log_add_plugin(pb_log *log, pb_ptr name, uint64_t len);

/* The number of a tag; UINT32_MAX where there is no tag of this name. */
uint32_t pb_log_find(const pb_log *log, pb_ptr name, uint32_t len);

/* Takes whole records from `n` bytes that stand at log->offset. Returns the bytes taken; sets
 * log->end. When a record is not whole, *want is the bytes it needs from log->offset on (0: unknown). */
size_t pb_feed(pb_log *log, pb_ptr bytes, size_t n, uint64_t *want);

/* Gives unused room back; for a log that was read from its beginning to its end. */
void pb_log_trim(pb_log *log);

/* These see what is in memory: pb_column_fetch comes before them. Points are copied from number `from` on. */
void pb_copy_points(const pb_column *c, uint64_t from, int64_t *step, double *wall, double *value);
void pb_copy_spans(const pb_column *c, int64_t *step, double *wall, uint64_t *offset, uint32_t *length, uint32_t *what);

typedef struct {
    uint64_t n, nan, inf;
    double min, max, last, last_wall, first_wall;
    int64_t first_step, last_step, min_step, max_step;
} pb_stats;
void pb_point_stats(const pb_column *c, pb_stats *out); /* min and max over finite values; NaN where there are none */

uint64_t pb_held_bytes(const pb_log *log); /* memory of the columns */

/* ---------- files (load.c) */

/* Reads what is new in the file at `path`. `scratch` is reused between calls. */
typedef struct { uint8_t *bytes; size_t cap; } pb_scratch;
void pb_load(pb_log *log, const char *path, pb_scratch *scratch);
/* Forgets everything and reads the file from its beginning, unless another thread has done so since `generation`: for a
 * log whose index is lost. */
void pb_reload(pb_log *log, const char *path, uint64_t generation, pb_scratch *scratch);

/* Many files by many threads: every thread calls pb_batch_work once. */
typedef struct {
    pb_log **logs;
    const char **paths;
    size_t n;
    size_t cursor;                 /* atomic: the next file to take */
    size_t done;                   /* atomic */
    int cancelled;                 /* atomic */
} pb_batch;
void pb_batch_work(pb_batch *batch);

#endif
