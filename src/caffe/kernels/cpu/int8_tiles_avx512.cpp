#define CAFFE_INT8_TILES kAvx512Int8Tiles
#include "int8_tiles.inc"
