#define CAFFE_INT8_TILES kAvx2Int8Tiles
#include "int8_tiles.inc"
