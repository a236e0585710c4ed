/* What a log was told, kept in a file of its own, so that the next process need not read the event file again.
 *
 *   0    8 bytes  "PBINDEX" and a 1
 *   8    columns  of points and spans, as they stand in memory
 *   ..   head     everything else: counts, tags, where each column lies and its checksum
 *   end  32 bytes u64 place of the head, u64 its length, u64 its checksum, "PBINDEX" and a 1
 *
 * A file is written once, beside its name, and renamed to it. Nothing in it is trusted: the head is checked as a
 * whole, each column when it is first asked for, and where anything is wrong the event file is read instead.
 * Columns are read with pread and not mapped: a file that somebody cuts must be an error, not a SIGBUS. */
#ifndef PB_INDEX_H
#define PB_INDEX_H

#include "events.h"

/* Writes all that the log holds now to an open, empty file. 0, or errno; EAGAIN where the log started anew meanwhile,
 * EILSEQ where the index that its columns still lie in is damaged. Other threads may go on reading and loading. */
int pb_index_write(pb_log *log, int fd);

/* Makes a log that is empty hold what the index at `path` tells. 0, and the log is empty still, where it is not whole.
 * `path` is kept by the log: columns are read from there when they are asked for. */
int pb_index_read(pb_log *log, const char *path);

/* Reads a column that still lies in the index. 0 where that is gone or damaged, or there is no memory. The caller
 * holds the log's lock. */
int pb_column_fetch(pb_log *log, pb_column *c, size_t item_size);

#endif
