#define CAFFE_WINOGRAD_KERNELS kAvx2Winograd
#include "winograd_loops.inc"
