"""C declarations behind reader.pyx: events.h and index.h."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cdef extern from "threads.h" nogil:
    ctypedef struct pb_mutex:
        pass
    void pb_mutex_lock(pb_mutex *)
    void pb_mutex_unlock(pb_mutex *)

cdef extern from "events.h" nogil:
    ctypedef struct pb_memory:
        size_t packed_n
        void *parts[3]
    void pb_memory_use(pb_memory *)
    void pb_memory_release(pb_memory *)
    ctypedef struct pb_cut:
        uint64_t at
        int64_t below
        int64_t restart
    ctypedef struct pb_column:
        pb_memory *owner
        int64_t *steps
        double *walls
        double *values
        uint64_t n
        uint64_t stored_n
        uint64_t restarts_seen
        pb_cut *cuts
        uint32_t cut_n
    ctypedef struct pb_tag:
        char *name
        uint32_t len
        int plugin
        uint64_t bytes
        uint64_t meta_offset
        uint32_t meta_length
        uint32_t span_fields
        pb_column points
        pb_column spans
    ctypedef struct pb_note:
        uint64_t offset
        uint64_t length
        uint32_t code
        uint32_t got
        uint32_t want
    ctypedef struct pb_restart:
        int64_t step
        double wall
        uint64_t offset
    ctypedef struct pb_log:
        pb_mutex lock
        pb_mutex loading
        const char *within
        pb_tag *tags
        uint32_t tag_n
        char **plugins
        uint32_t plugin_n
        int scalars_plugin
        pb_restart *restarts
        uint64_t restart_n
        pb_note *notes
        uint64_t note_n
        uint64_t offset
        uint64_t events
        uint64_t points
        uint64_t framing_bytes
        double first_wall
        double last_wall
        int64_t last_step
        double version
        int64_t most_recent_step
        double version_at_start
        int64_t most_recent_at_start
        int unversioned
        int end
        int error
        uint64_t size
        int64_t mtime_ns
        uint64_t dev
        uint64_t ino
        uint64_t generation
    ctypedef struct pb_stats:
        uint64_t n
        uint64_t nan
        uint64_t inf
        double min
        double max
        double last
        double last_wall
        double first_wall
        uint64_t at_min
        uint64_t at_max
        int64_t first_step
        int64_t last_step
        int64_t min_step
        int64_t max_step
    ctypedef struct pb_batch:
        pb_log **logs
        const char **paths
        size_t n
        size_t cursor
        size_t done
        int cancelled
    ctypedef struct pb_scratch:
        pass
    void pb_scratch_free(pb_scratch *)
    enum:
        PB_MAX_NOTES
    pb_log *pb_log_new()
    void pb_log_free(pb_log *)
    void pb_log_reset(pb_log *, double version, int64_t most_recent_step)
    void pb_log_trim(pb_log *)
    uint32_t pb_log_find(const pb_log *, const uint8_t *name, uint32_t len)
    size_t pb_feed(pb_log *, const uint8_t *, size_t n, uint64_t *want)
    void pb_copy_points(const pb_column *, uint64_t start, int64_t *, double *, double *)
    pb_memory *pb_points_share(pb_column *)
    void pb_copy_spans(const pb_column *, int64_t *, double *, uint64_t *, uint32_t *, uint32_t *)
    void pb_point_stats(const pb_column *, pb_stats *)
    uint64_t pb_held_bytes(const pb_log *)
    void pb_load(pb_log *, const char *path, pb_scratch *)
    void pb_reload(pb_log *, const char *path, uint64_t generation, pb_scratch *)
    void pb_batch_work(pb_batch *)

cdef extern from "index.h" nogil:
    int pb_index_write(pb_log *, int fd)
    int pb_index_read(pb_log *, const char *path)
    int pb_fetch_points(pb_log *, pb_column *)
    int pb_fetch_spans(pb_log *, pb_column *)

cdef class Shared:
    cdef pb_memory *owner
    cdef void *items
    cdef uint64_t n

cdef class EventLog:
    cdef pb_log *log
    cdef bytes path  # of the event file, while some columns may still be in an index
    cdef bytes within  # what log.within points to
    cdef Shared packed  # the memory that most columns are in, if series were taken from it

    cdef void acquire(self) noexcept
    cdef void release(self) noexcept
    cdef uint32_t index_of(self, str name) except? 0
    cdef int has_points(self, uint32_t tag) noexcept
    cdef int has_spans(self, uint32_t tag) noexcept
    cdef int reload(self, uint64_t generation) except -1
    cdef tuple row(self, uint32_t i)
    cdef tuple cuts_of(self, pb_column *c)
