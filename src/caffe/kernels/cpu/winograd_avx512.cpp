#define CAFFE_WINOGRAD_KERNELS kAvx512Winograd
#include "winograd_loops.inc"
