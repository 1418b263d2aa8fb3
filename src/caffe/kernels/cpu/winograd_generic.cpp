#define CAFFE_WINOGRAD_KERNELS kGenericWinograd
#include "winograd_loops.inc"
