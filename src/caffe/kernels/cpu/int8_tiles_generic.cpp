#define CAFFE_INT8_TILES kGenericInt8Tiles
#include "int8_tiles.inc"
