"""Part of reader.pyx: many files, read at once."""


cdef class Batch:
    """Many files, read by every thread that calls `work`."""

    cdef pb_batch batch
    cdef list logs
    cdef list paths

    def __cinit__(self, list logs not None, list paths not None):
        cdef size_t n = len(logs), i
        if n != <size_t>len(paths):
            raise ValueError(f"{n} logs for {len(paths)} paths")
        self.logs, self.paths = logs, paths
        self.batch.logs = <pb_log **>malloc((n or 1) * sizeof(pb_log *))
        self.batch.paths = <const char **>malloc((n or 1) * sizeof(char *))
        if self.batch.logs is NULL or self.batch.paths is NULL:
            raise MemoryError
        for i in range(n):
            self.batch.logs[i] = (<EventLog?>logs[i]).log
            path = <bytes?>paths[i]
            self.batch.paths[i] = PyBytes_AS_STRING(path)  # `paths` keeps it alive
        self.batch.n = n

    def __dealloc__(self):
        free(self.batch.logs)
        free(<void *>self.batch.paths)

    def work(self) -> None:
        """Read files until none is left. Call it from every thread that should help."""
        with nogil:
            pb_batch_work(&self.batch)

    def cancel(self) -> None:
        """Start no further file. Those being read are finished."""
        self.batch.cancelled = 1

    @property
    def done(self) -> int:
        """Number of files read so far."""
        return self.batch.done
