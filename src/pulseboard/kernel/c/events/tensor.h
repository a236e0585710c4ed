/* A TensorProto that holds one number, in any form a writer may choose. */
#ifndef PB_TENSOR_H
#define PB_TENSOR_H

#include "wire.h"

/* 0 if it holds no number, several, or something else. */
int pb_tensor_number(pb_ptr p, pb_ptr end, double *out);

#endif
