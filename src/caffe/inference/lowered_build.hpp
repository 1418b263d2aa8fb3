#ifndef CAFFE_INFERENCE_LOWERED_BUILD_HPP_
#define CAFFE_INFERENCE_LOWERED_BUILD_HPP_

#include <memory>

#include "caffe/inference/builder.hpp"

namespace caffe::inference {

/// Implements Builder::Build for the CPU or a GPU and a net in its largest shapes: chooses types
/// and lowers.
std::shared_ptr<const Engine> BuildLowered(const Graph& graph, const BuilderConfig& config);

/// Implements inference::QuantizedGraph for a net in its largest shapes.
Graph QuantizedGraph(const Graph& graph, const BuilderConfig& config);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_LOWERED_BUILD_HPP_
