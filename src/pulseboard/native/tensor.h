/* A TensorProto that holds one number, in any of the forms a writer may choose. */
#ifndef PB_TENSOR_H
#define PB_TENSOR_H

#include "wire.h"

/* 0 when it holds none, several, or something that is no number. */
int pb_tensor_number(pb_ptr p, pb_ptr end, double *out);

#endif
