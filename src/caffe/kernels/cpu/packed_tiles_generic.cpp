#define CAFFE_PACKED_TILES kGenericPackedTiles
#include "packed_tiles.inc"
