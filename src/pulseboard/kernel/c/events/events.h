/* Event files to columns.
 *
 * One record on disk, little-endian:
 *   u64  length
 *   u32  masked CRC32C of length
 *   ...  an Event message, `length` bytes
 *   u32  masked CRC32C of the message
 *
 * A pb_log holds everything read from one file so far: per tag, a column of scalar points and a
 * column of spans (the positions of all other values in the file). The file can be fed in pieces of
 * any size. No function keeps a pointer into the bytes it is given or trusts a length that a file
 * states. */
#ifndef PB_EVENTS_H
#define PB_EVENTS_H

#include <stdint.h>
#include <sys/types.h>

#include "memory.h"
#include "threads.h"
#include "wire.h"

/* ---------- columns */

typedef struct {
    int64_t step;
    double wall;
    double value;
} pb_point;

/* Position of a Summary.Value (or a graph) in the file. `field` is the field of Summary.Value that
 * holds it (4 image, 5 histogram, 6 audio, 8 tensor, 3 old histogram), 0 for a value that is only
 * metadata, or 100 + the field of Event (104 graph, 106 log line, 108 run metadata, 109 meta graph). */
typedef struct {
    int64_t step;
    double wall;
    uint64_t offset;
    uint32_t length;
    uint32_t field;
} pb_span;

/* A restart that orphaned earlier items. Of the first `at` items, only those with a step below a limit
 * remain. The limit is `below`, or if `restart` >= 0, the smallest step in restarts[restart..]. */
typedef struct {
    uint64_t at;
    int64_t below;
    int64_t restart;
} pb_cut;

typedef struct pb_block {
    struct pb_block *next;
    uint32_t n, cap;
} pb_block; /* items follow */

typedef struct {
    uint64_t n;                    /* items in memory, plus those still in the index */
    uint64_t stored_n;             /* items still in the index; they come before those in memory (index.h) */
    uint64_t restarts_seen;        /* cuts cover restarts[0 .. restarts_seen) */
    union {
        struct {                   /* of points: points.c */
            int64_t *steps;
            double *walls, *values;
            uint64_t cap;
            pb_memory *owner;      /* set if arrays or other columns share the memory, which then never changes */
        };
        struct {                   /* of spans: columns.c */
            pb_block *head, *tail;
        };
    };
    uint64_t stored_at, stored_sum;
    pb_cut *cuts;
    uint32_t cut_n, cut_cap;
    int trimmed;                   /* the file was read to its end once; new items now come a few at a time */
} pb_column;

typedef struct {
    char *name;                    /* not terminated: `len` bytes as stored in the file */
    uint32_t len, hash;
    uint32_t next;                 /* the tag that followed this one last time */
    int32_t plugin;                /* from the first metadata seen; -1 until then */
    uint64_t bytes;                /* bytes of the file that belong to this tag, framing included */
    uint64_t meta_offset;          /* of that first metadata */
    uint32_t meta_length;
    uint64_t cut_by;               /* the event (counted from 1) whose falling step last cut the columns */
    uint32_t span_fields;          /* the fields of its spans: bit `field`, or bit `field - 84` from 100 on */
    pb_column points, spans;
} pb_tag;

/* ---------- problems, by what the reader does next */

enum {
    PB_END_CLEAN = 0,      /* read to the last byte */
    PB_END_TORN = 1,       /* the last record is incomplete: try again later */
    PB_END_BAD_LENGTH = 2, /* a length fails its checksum, so the next record cannot be found */
    PB_END_HUGE = 3,       /* a length with a good checksum that no writer can produce */
    PB_END_ERRNO = 4,      /* the system could not read the file: see error */
    PB_END_NOT_A_FILE = 5, /* a pipe, a device, a directory */
    PB_END_NO_MEMORY = 6,
    PB_END_OUTSIDE = 7,    /* a link led to a file outside the directories that are allowed */
};

enum { PB_NOTE_PAYLOAD = 1, PB_NOTE_EVENT = 2 }; /* one record skipped: bad checksum, not an Event */
typedef struct {
    uint64_t offset, length;
    uint32_t code, got, want;
} pb_note;

/* The longest possible message: protobuf's own limit. */
#define PB_MAX_RECORD 0x7FFFFFFFull
/* Notes kept in full; further ones are only counted. */
enum { PB_MAX_NOTES = 64 };

typedef struct {
    int64_t step;
    double wall;
    uint64_t offset;
} pb_restart;

typedef struct {
    pb_mutex lock;                 /* held while columns change, released between pieces of a file */
    pb_mutex loading;              /* held from the first piece to the last; acquired before `lock` */
    /* Real paths of directories, each with its zero, then an empty one: a file must be in one of them. NULL: anywhere.
     * Not owned by the log. */
    const char *within;
    /* A reset clears everything from here on. */
    pb_tag *tags;
    uint32_t tag_n, tag_cap;
    uint32_t *slots; /* tag index + 1, open addressing */
    uint32_t slot_n;
    uint32_t last_tag; /* the tag of the previous value */
    char **plugins;
    uint32_t plugin_n, plugin_cap;
    int32_t scalars_plugin; /* index of the plugin "scalars"; -2 until it appears */
    pb_restart *restarts;
    uint64_t restart_n, restart_cap;
    pb_note *notes; /* the first PB_MAX_NOTES */
    uint64_t note_n; /* all of them */

    uint64_t offset; /* of the next record: everything before it has been read */
    uint64_t events, points, framing_bytes;
    double first_wall, last_wall;
    int64_t last_step; /* of the last event with values */
    double version; /* from the last version record; 0 before the first */
    int64_t most_recent_step;
    double version_at_start; /* at the end of the run's previous file */
    int64_t most_recent_at_start;
    int unversioned; /* read a summary or a session mark while the version was below 2 */
    int out_of_memory;

    int end, error;
    uint64_t size; /* of the file at the last load */
    int64_t mtime_ns;
    uint64_t dev, ino;
    uint64_t generation; /* how often the log has started over: the file was replaced or truncated */
    uint8_t last_bytes[16]; /* the bytes before `offset`, to detect a rewritten file */
    uint32_t last_bytes_n;
    uint8_t first_bytes[64]; /* the file's first bytes, for the same purpose */
    uint32_t first_bytes_n;
    char *stored_path; /* the index that some columns are still in; NULL if none are */
    uint64_t stored_dev, stored_ino;
    pb_pool *pool; /* of the thread that is loading the file, while it holds the lock; else NULL */
} pb_log;

pb_log *pb_log_new(void);
void pb_log_free(pb_log *log);
/* Forgets everything and starts over from this state. */
void pb_log_reset(pb_log *log, double version, int64_t most_recent_step);

/* The index of a tag; UINT32_MAX if there is no tag with this name. */
uint32_t pb_log_find(const pb_log *log, pb_ptr name, uint32_t len);

/* Reads whole records from `n` bytes that start at log->offset. Returns the bytes consumed and sets
 * log->end. If a record is incomplete, *want is its size from log->offset on (0: unknown). */
size_t pb_feed(pb_log *log, pb_ptr bytes, size_t n, uint64_t *want);

/* Frees unused memory; for a log that was read from beginning to end. */
void pb_log_trim(pb_log *log);

/* These see only what is in memory: fetch the column first (index.h). Points are copied from index `from` on. */
void pb_copy_points(const pb_column *c, uint64_t from, int64_t *step, double *wall, double *value);
/* The memory of a column's points, with one more user, so that arrays can show them without a copy. They stay as they
 * are, whatever is added to the column. NULL: no memory, or no points. */
pb_memory *pb_points_share(pb_column *c);
void pb_copy_spans(const pb_column *c, int64_t *step, double *wall, uint64_t *offset, uint32_t *length,
                   uint32_t *field);

typedef struct {
    uint64_t n, nan, inf;
    double min, max, last, last_wall, first_wall;
    uint64_t at_min, at_max; /* the first points with these values; 0 if there are none */
    int64_t first_step, last_step, min_step, max_step;
} pb_stats;
void pb_point_stats(const pb_column *c, pb_stats *out); /* min and max of the finite values; NaN if there are none */

uint64_t pb_held_bytes(const pb_log *log); /* memory used by the columns */

/* ---------- files (load.c) */

/* Reads what is new in the file at `path`. `scratch` can be reused between calls. */
typedef struct {
    uint8_t *bytes;
    size_t cap;
    pb_pool pool;
} pb_scratch;
void pb_scratch_free(pb_scratch *scratch);
void pb_load(pb_log *log, const char *path, pb_scratch *scratch);
/* For a log whose index is lost: forgets everything and reads the file from its beginning, unless another thread has
 * done so since `generation`. */
void pb_reload(pb_log *log, const char *path, uint64_t generation, pb_scratch *scratch);

/* Many files read by many threads: every thread calls pb_batch_work once. */
typedef struct {
    pb_log **logs;
    const char **paths;
    size_t n;
    size_t cursor; /* atomic: the next file to read */
    size_t done; /* atomic */
    int cancelled; /* atomic */
} pb_batch;
void pb_batch_work(pb_batch *batch);

#endif
