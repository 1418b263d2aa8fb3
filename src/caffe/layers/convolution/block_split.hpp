#ifndef CAFFE_LAYERS_BLOCK_SPLIT_HPP_
#define CAFFE_LAYERS_BLOCK_SPLIT_HPP_

#include <optional>

#include "caffe/kernels/separable_block.hpp"

namespace caffe {

/// What threads share of a block that expands, for `num` images: that of which the slowest of them
/// is done sooner. None where either way it has over 1.15 times an equal share of the products, and
/// what is over takes longer than starting two more layers: because of rows that two threads
/// expand, or because rows or parts of the channels do not go evenly among the threads. Then the
/// layers are to run one by one.
std::optional<kernels::SeparableBlock::Split> ChooseBlockSplit(
    const kernels::SeparableBlock::Shapes& shapes, int num, int threads);

}  // namespace caffe

#endif  // CAFFE_LAYERS_BLOCK_SPLIT_HPP_
