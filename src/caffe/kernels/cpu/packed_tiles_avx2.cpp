#define CAFFE_PACKED_TILES kAvx2PackedTiles
#include "packed_tiles.inc"
