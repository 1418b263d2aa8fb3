#define CAFFE_VECTOR_KERNELS kAvx512Kernels
#include "vector_kernels.inc"
