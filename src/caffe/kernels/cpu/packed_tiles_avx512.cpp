#define CAFFE_PACKED_TILES kAvx512PackedTiles
#include "packed_tiles.inc"
