/* Event files to start from, so that the fuzzer needs no corpus. */
#ifndef SEEDS_H
#define SEEDS_H

#include <math.h>

#include "mutate.h"

/* An Event with `body` as its field `field`; empties `body`. */
static void put_event(buffer *file, double wall, int64_t step, uint32_t field, buffer *body) {
    buffer event = {0};
    put_double(&event, 1, wall);
    if (step) put_number(&event, 2, (uint64_t)step);
    if (field) put_message(&event, field, body);
    put_frame(file, event.p, event.n);
    free(event.p);
}

static void put_version(buffer *file, const char *text) {
    buffer body = {0};
    put(&body, text, strlen(text));
    put_event(file, 1.5e9, 0, 3, &body);
    free(body.p);
}

static void put_session(buffer *file, int64_t step, uint64_t status) {
    buffer body = {0};
    put_number(&body, 1, status);
    put_event(file, 1.5e9 + (double)step, step, 7, &body);
    free(body.p);
}

/* A Summary.Value with a tag and nothing else yet. */
static void put_tag(buffer *value, const char *tag) { put_field(value, 1, tag, strlen(tag)); }

static void put_simple(buffer *summary, const char *tag, float v) {
    buffer value = {0};
    put_tag(&value, tag);
    put_float(&value, 2, v);
    put_message(summary, 1, &value);
    free(value.p);
}

static void put_metadata(buffer *value, const char *plugin) {
    buffer name = {0}, metadata = {0};
    put_field(&name, 1, plugin, strlen(plugin));
    put_message(&metadata, 1, &name);
    put_message(value, 9, &metadata);
    free(name.p);
    free(metadata.p);
}

static const struct {
    uint64_t dtype;
    uint32_t field, size;
} dtypes[] = {
    {1, 5, 4},   {2, 6, 8},   {3, 7, 4},  {4, 7, 1},   {5, 7, 2},   {6, 7, 1},   {9, 10, 8},
    {10, 11, 1}, {14, 13, 2}, {17, 7, 2}, {19, 13, 2}, {22, 16, 4}, {23, 17, 8},
};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* A scalar as a TensorProto; form 0 packed, 1 unpacked, 2 raw content. */
static void put_tensor(buffer *summary, const char *tag, size_t d, int form, uint64_t bits, const char *plugin) {
    buffer tensor = {0}, value = {0}, packed = {0};
    put_number(&tensor, 1, dtypes[d].dtype);
    put_field(&tensor, 2, NULL, 0);
    uint32_t field = dtypes[d].field, wire = field == 5 ? PB_FIXED32 : field == 6 ? PB_FIXED64 : PB_VARINT;
    if (wire == PB_VARINT) put_varint(&packed, bits);
    else put(&packed, &bits, dtypes[d].size);
    if (form == 2) put_field(&tensor, 4, &bits, dtypes[d].size);
    else if (form == 0) put_message(&tensor, field, &packed);
    else {
        put_varint(&tensor, (uint64_t)field << 3 | wire);
        put(&tensor, packed.p, packed.n);
    }
    put_tag(&value, tag);
    put_message(&value, 8, &tensor);
    if (plugin) put_metadata(&value, plugin);
    put_message(summary, 1, &value);
    free(tensor.p);
    free(value.p);
    free(packed.p);
}

/* ---------- the files */

static void simple_scalars(buffer *file, buffer *s) {
    static const float values[] = {0.5f, -0.0f, 1e-42f, 3e38f, NAN, INFINITY, -INFINITY};
    put_version(file, "brain.Event:2");
    for (int64_t step = 0; step < 14; step++) {
        put_simple(s, step % 2 ? "train/loss" : "train/lr", values[step % 7]);
        put_event(file, 1.5e9 + (double)step, step * step * step * 1000, 5, s);
    }
}

static void tensor_scalars(buffer *file, buffer *s) {
    put_version(file, "brain.Event:2");
    for (int form = 0; form < 3; form++)
        for (size_t d = 0; d < DTYPES; d++) {
            put_tensor(s, "tensor", d, form, 0x3F8000003F800001u >> d, d == 0 ? "scalars" : NULL);
            put_event(file, 1.5e9, (int64_t)d, 5, s);
        }
}

static void common_tensors(buffer *file, buffer *s) {
    put_version(file, "brain.Event:2");
    for (int64_t step = 0; step < 8; step++) {
        put_tensor(s, step % 2 ? "acc" : "loss", 0, 0, 0x3E99999Au, step < 4 ? "scalars" : NULL);
        put_event(file, 1.5e9, step, 5, s);
    }
}

static void many_values(buffer *file, buffer *s) {
    char tag[32];
    put_version(file, "brain.Event:2");
    for (int64_t step = 0; step < 5; step++) {
        for (int i = 0; i < 20; i++) {
            snprintf(tag, sizeof tag, "layer%d/norm", i);
            put_simple(s, tag, (float)i);
        }
        put_field(s, 1, NULL, 0); /* an empty value */
        put_event(file, 1.5e9, step, 5, s);
    }
}

static void falling_sessions(buffer *file, buffer *s) {
    static const int64_t starts[] = {0, 40, 20, 30, 5};
    put_version(file, "brain.Event:2");
    for (size_t k = 0; k < 5; k++) {
        put_session(file, starts[k], 1);
        for (int64_t step = starts[k]; step < starts[k] + 6; step++) {
            put_simple(s, "loss", (float)step);
            put_event(file, 1.5e9, step, 5, s);
        }
        put_session(file, starts[k], 2);
    }
}

static void without_version(buffer *file, buffer *s) {
    static const int64_t steps[] = {0, 5, 9, 3, 4, 4, 12, -1, 2};
    for (size_t k = 0; k < 9; k++) {
        put_simple(s, "a", (float)k);
        if (k % 2) put_simple(s, "b", (float)k);
        if (k % 3) put_tensor(s, "c", 0, 0, 0x3E99999Au, "scalars");
        put_event(file, 1.5e9, steps[k], 5, s);
    }
    put_version(file, "brain.Event:1");
    put_session(file, 3, 1);
}

static void histograms(buffer *file, buffer *s) {
    buffer histogram = {0}, value = {0}, tensor = {0}, shape = {0}, dim = {0};
    double bins[30];
    for (int i = 0; i < 30; i++) bins[i] = i;
    put_version(file, "brain.Event:2");
    for (int64_t step = 0; step < 4; step++) {
        for (uint32_t i = 1; i < 6; i++) put_double(&histogram, i, i);
        put_field(&histogram, 6, bins, sizeof bins);
        put_field(&histogram, 7, bins, sizeof bins);
        put_tag(&value, "weights");
        put_message(&value, 5, &histogram);
        put_message(s, 1, &value);
        put_event(file, 1.5e9, step, 5, s);
        put_number(&tensor, 1, 2);
        put_number(&dim, 1, 10);
        put_message(&shape, 2, &dim);
        put_number(&dim, 1, 3);
        put_message(&shape, 2, &dim);
        put_message(&tensor, 2, &shape);
        put_field(&tensor, 4, bins, sizeof bins);
        put_tag(&value, "gradients");
        put_message(&value, 8, &tensor);
        put_metadata(&value, "histograms");
        put_message(s, 1, &value);
        put_event(file, 1.5e9, step, 5, s);
    }
    free(histogram.p);
    free(value.p);
    free(tensor.p);
    free(shape.p);
    free(dim.p);
}

static void metadata_only(buffer *file, buffer *s) {
    buffer value = {0};
    static const char *const plugins[] = {"hparams", "", "scalars", "text", "pr_curves"};
    put_version(file, "brain.Event:2");
    for (size_t i = 0; i < 5; i++) {
        put_tag(&value, i ? plugins[i] : "_hparams_/experiment");
        put_metadata(&value, plugins[i]);
        put_message(s, 1, &value);
        put_event(file, 1.5e9, 0, 5, s);
    }
    free(value.p);
}

static void blobs(buffer *file, buffer *s) {
    put_version(file, "brain.Event:2");
    for (uint32_t field = 4; field <= 9; field++) {
        put_field(s, 1, "node", 4);
        put_event(file, 1.5e9, 3, field, s);
    }
    for (uint32_t field = 3; field <= 6; field++) {
        buffer value = {0};
        put_tag(&value, "media");
        put_field(&value, field, "\x08\x01\x10\x01", 4);
        put_message(s, 1, &value);
        free(value.p);
    }
    put_event(file, 1.5e9, 4, 5, s);
}

static void groups(buffer *file, buffer *s) {
    put_version(file, "brain.Event:2");
    for (int depth = 1; depth < 2000; depth *= 6) {
        for (int i = 0; i < depth; i++) put_varint(s, 20 << 3 | PB_GROUP);
        put_number(s, 1, 7);
        for (int i = 0; i < depth; i++) put_varint(s, 20 << 3 | PB_GROUP_END);
        put_simple(s, "after a group", 1);
        put_event(file, 1.5e9, depth, 5, s);
    }
}

static void huge_length(buffer *file, uint64_t len) {
    uint32_t crc = pb_length_crc(len);
    put_version(file, "brain.Event:2");
    put(file, &len, 8);
    put(file, &crc, 4);
    put(file, "and some bytes", 14);
}

static void longer_than_the_file(buffer *file, buffer *s) { (void)s, huge_length(file, 1 << 20); }
static void longest_allowed(buffer *file, buffer *s) { (void)s, huge_length(file, 0x7FFFFFFF); }
static void one_too_long(buffer *file, buffer *s) { (void)s, huge_length(file, 0x80000000); }
static void length_that_wraps(buffer *file, buffer *s) { (void)s, huge_length(file, UINT64_MAX - 15); }
static void longest(buffer *file, buffer *s) { (void)s, huge_length(file, UINT64_MAX); }

static void odd_steps(buffer *file, buffer *s) {
    static const int64_t steps[] = {-1, INT64_MIN, INT64_MAX, 127, 128, 1ll << 49, 1ll << 56, 1ll << 62, -2, 0};
    put_version(file, "brain.Event:2");
    for (size_t i = 0; i < 10; i++) {
        put_simple(s, i % 3 ? "a" : "", (float)i);
        put_event(file, i % 4 ? 1.5e9 : NAN, steps[i], 5, s);
        put_session(file, steps[i], 1);
    }
}

static void node_names(buffer *file, buffer *s) {
    buffer value = {0}, tensor = {0};
    put_version(file, "brain.Event:2");
    put_number(&tensor, 1, 1);
    put_float(&tensor, 5, 2.5f);
    put_field(&value, 7, "node", 4);
    put_message(&value, 8, &tensor);
    put_metadata(&value, "scalars");
    put_message(s, 1, &value);
    put_event(file, 1.5e9, 1, 5, s);
    free(value.p);
    free(tensor.p);
}

static void many_tags(buffer *file, buffer *s) {
    char tag[32], plugin[32];
    put_version(file, "brain.Event:2");
    for (int i = 0; i < 3000; i++) {
        snprintf(tag, sizeof tag, "tag %d", i);
        snprintf(plugin, sizeof plugin, "plugin %d", i / 2);
        if (i % 2) put_simple(s, tag, (float)i);
        else put_tensor(s, tag, 0, 0, 0x3F800000, plugin);
        if (i % 50 == 49) put_event(file, 1.5e9, i, 5, s);
    }
}

static void long_column(buffer *file, buffer *s) {
    put_version(file, "brain.Event:2");
    for (int64_t step = 0; step < 10; step++) {
        for (int i = 0; i < 500; i++) put_simple(s, "x", (float)i);
        put_event(file, 1.5e9, step, 5, s);
    }
}

static void broken_records(buffer *file, buffer *s) {
    put_version(file, "brain.Event:2");
    put_simple(s, "a", 1);
    put_event(file, 1.5e9, 1, 5, s);
    size_t second = file->n;
    put_simple(s, "a", 2);
    put_event(file, 1.5e9, 2, 5, s);
    file->p[second + 20] ^= 1; /* its payload fails the checksum */
    put_frame(file, "\xFF\xFF\xFF", 3);
    put_frame(file, "", 0);
    put_simple(s, "a", 3);
    put_event(file, 1.5e9, 3, 5, s);
}

static void empty(buffer *file, buffer *s) { (void)file, (void)s; }

static void (*const seed_makers[])(buffer *file, buffer *summary) = {
    simple_scalars,  tensor_scalars, common_tensors,    many_values, falling_sessions,
    without_version, histograms,     metadata_only,     blobs,       groups,
    odd_steps,       node_names,     broken_records,    empty,       longer_than_the_file,
    longest_allowed, one_too_long,   length_that_wraps, longest,     many_tags,
    long_column,
};
enum { SEED_MAKERS = sizeof seed_makers / sizeof *seed_makers };

#endif
