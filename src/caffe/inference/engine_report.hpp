#ifndef CAFFE_INFERENCE_ENGINE_REPORT_HPP_
#define CAFFE_INFERENCE_ENGINE_REPORT_HPP_

#include <memory>
#include <string>
#include <vector>

#include "caffe/inference/engine.hpp"

namespace caffe::inference {

/// See Engine::layers, weight_bytes, ToJson and LayersToJson.
std::vector<LayerInfo> LayersOf(const Graph& graph);
std::string EngineAsJson(const Engine& engine);
std::string LayersAsJson(const Graph& graph, bool details);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_ENGINE_REPORT_HPP_
