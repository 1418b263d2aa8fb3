#define CAFFE_VECTOR_KERNELS kAvx2Kernels
#include "vector_kernels.inc"
