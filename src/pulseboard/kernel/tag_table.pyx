# cython: language_level=3, boundscheck=False, wraparound=False, freethreading_compatible=True
"""The tags of a log packed into one bytes object, so that logs with the same tags compare equal and share a cache entry.

Layout, little-endian: u32 plugins, u32 tags; per plugin u32 length and name; per tag u32 length of the name, plugin
(1 + its index, 0 for none), fields of its spans as bits, whether it has points, and the name.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy, strlen

from pulseboard.kernel.reader cimport EventLog, pb_log, pb_tag

import struct


def pack_tags(EventLog log not None) -> bytes:
    """The log's tags and what kinds of data they have. Equal bytes mean equal tables."""
    cdef uint64_t size = 8
    cdef uint32_t i, n
    cdef uint32_t head[4]
    cdef pb_log *c_log = log.log
    cdef pb_tag *t
    cdef char *to
    log.acquire()
    try:
        for i in range(c_log.plugin_n):
            size += 4 + strlen(c_log.plugins[i])
        for i in range(c_log.tag_n):
            size += sizeof(head) + c_log.tags[i].len
        out = PyBytes_FromStringAndSize(NULL, size)
        to = PyBytes_AS_STRING(out)
        memcpy(to, &c_log.plugin_n, 4)
        memcpy(to + 4, &c_log.tag_n, 4)
        to += 8
        for i in range(c_log.plugin_n):
            n = strlen(c_log.plugins[i])
            memcpy(to, &n, 4)
            memcpy(to + 4, c_log.plugins[i], n)
            to += 4 + n
        for i in range(c_log.tag_n):
            t = &c_log.tags[i]
            head[0] = t.len
            head[1] = <uint32_t>(t.plugin + 1)
            head[2] = t.span_fields
            head[3] = t.points.n != 0
            memcpy(to, head, sizeof(head))
            memcpy(to + sizeof(head), t.name, t.len)
            to += sizeof(head) + t.len
        return out
    finally:
        log.release()


def unpack_tags(bytes table not None) -> list:
    """(name, plugin or None, fields of its spans as bits, whether it has points) of each tag."""
    plugin_n, tag_n = struct.unpack_from("<2I", table)
    at, plugins, out = 8, [None], []
    for _ in range(plugin_n):
        (n,) = struct.unpack_from("<I", table, at)
        plugins.append(table[at + 4 : at + 4 + n].decode("utf-8", "backslashreplace"))
        at += 4 + n
    for _ in range(tag_n):
        n, plugin, fields, points = struct.unpack_from("<4I", table, at)
        name = table[at + 16 : at + 16 + n].decode("utf-8", "backslashreplace")
        out.append((name, plugins[plugin], fields, bool(points)))
        at += 16 + n
    return out
