#define CAFFE_INT8_TILES kAvxVnniInt8Tiles
#include "int8_tiles.inc"
