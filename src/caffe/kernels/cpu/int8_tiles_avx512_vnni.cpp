#define CAFFE_INT8_TILES kAvx512VnniInt8Tiles
#include "int8_tiles.inc"
