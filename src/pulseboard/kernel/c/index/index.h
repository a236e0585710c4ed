/* The contents of a log, stored in a file, so that the next process does not have to read the event file again.
 *
 *   0    8 bytes  "PBINDEX" and a 1
 *   8    columns  of points and spans, each item after the other: step, wall time, ...
 *   ..   head     everything else: counts, tags, the offset and checksum of each column
 *   end  32 bytes u64 offset of the head, u64 its length, u64 its checksum, "PBINDEX" and a 1
 *
 * An index is written once, under a temporary name, and renamed. Nothing in it is trusted: the head is checked as a
 * whole, each column when it is first used, and if anything is wrong the event file is read instead.
 * Columns are read with pread, not mapped: if another process truncates the file, that must be an error and not a
 * SIGBUS. */
#ifndef PB_INDEX_H
#define PB_INDEX_H

#include "events.h"

/* Writes everything the log holds to an open, empty file. Returns 0 or errno; EAGAIN if the log started over in the
 * meantime, EILSEQ if the index that some columns are still in is damaged. Other threads may keep reading and loading. */
int pb_index_write(pb_log *log, int fd);

/* Fills an empty log from the index at `path`. Returns 0 and leaves the log empty if the index is damaged. The log
 * keeps `path`: columns are read from there on first use. */
int pb_index_read(pb_log *log, const char *path);

/* Reads a column that is still in the index. 0 if it is missing or damaged, or if there is no memory. The caller holds
 * the log's lock. */
int pb_fetch_points(pb_log *log, pb_column *c);
int pb_fetch_spans(pb_log *log, pb_column *c);

#endif
