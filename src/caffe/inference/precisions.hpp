#ifndef CAFFE_INFERENCE_PRECISIONS_HPP_
#define CAFFE_INFERENCE_PRECISIONS_HPP_

#include <memory>

#include "caffe/inference/builder.hpp"

namespace caffe::inference {

/// What Builder::Build does for the CPU or a GPU with a net in its largest shapes: chooses types,
/// lowers. Throws Error as it does.
std::shared_ptr<const Engine> BuildLowered(const Graph& graph, const BuilderConfig& config);

/// What inference::QuantizedGraph does with a net in its largest shapes.
Graph QuantizedGraph(const Graph& graph, const BuilderConfig& config);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_PRECISIONS_HPP_
