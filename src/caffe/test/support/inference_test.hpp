#ifndef CAFFE_TEST_INFERENCE_TEST_HPP_
#define CAFFE_TEST_INFERENCE_TEST_HPP_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "caffe/inference/backends/runner.hpp"
#include "caffe/inference/graph/regions.hpp"
#include "caffe/inference/network_definition.hpp"
#include "caffe/inference/passes/passes.hpp"
#include "caffe/inference/plan_file.hpp"
#include "caffe/net.hpp"
#include "net_fixture.hpp"

namespace caffe::inference {

using Floats = std::vector<float>;
using NamedValues = std::map<std::string, Floats>;

inline LayerParameter ParseLayer(const std::string& text) {
  return ParseNet("layer { " + text + " }").layer(0);
}

/// A plan with the checksum of what it holds now.
inline std::string Signed(std::string plan) {
  const uint64_t sum =
      PlanChecksum(plan.data() + 64, plan.size() - 64, PlanChecksum(plan.data(), 32, 0));
  std::memcpy(&plan[32], &sum, 8);
  return plan;
}

/// The graph after all passes that need nothing but the graph, with `lower` in the place of those
/// that a build has for its target.
inline Graph LoweredBy(const std::function<Graph(Graph)>& lower, Graph graph) {
  graph = lower(Optimize(std::move(graph), {"views", "order", "memory"}));
  return PlanMemory(OrderForMemory(MakeViews(std::move(graph))));
}

/// The values of a net's inputs (outputs).
inline NamedValues InputsOf(const Net<float>& net) {
  NamedValues values;
  for (int i = 0; i < net.num_inputs(); ++i) {
    const Blob<float>& blob = *net.input_blobs()[i];
    values[net.blob_names()[net.input_blob_indices()[i]]] = {blob.cpu_data(),
                                                             blob.cpu_data() + blob.count()};
  }
  return values;
}

inline NamedValues OutputsOf(const Net<float>& net) {
  NamedValues values;
  for (int i = 0; i < net.num_outputs(); ++i) {
    const Blob<float>& blob = *net.output_blobs()[i];
    values[net.blob_names()[net.output_blob_indices()[i]]] = {blob.cpu_data(),
                                                              blob.cpu_data() + blob.count()};
  }
  return values;
}

/// What the backend that a graph is for makes of it. Inputs that the graph does not have are left
/// out.
inline NamedValues RunGraph(const Graph& graph, const NamedValues& inputs, int batch = 0) {
  const std::unique_ptr<Runner> runner = MakeRunner(std::make_shared<const Graph>(graph));
  if (batch > 0) runner->SetInputShapes(InputShapes(graph, batch));
  for (const int input : graph.inputs) {
    const Floats& values = inputs.at(graph.values[input].name);
    EXPECT_LE(CountOf(runner->shape(input)), values.size());
    std::copy_n(values.data(), CountOf(runner->shape(input)), runner->data(input));
  }
  runner->Run(nullptr);
  NamedValues outputs;
  for (const int output : graph.outputs) {
    const float* data = runner->data(output);
    outputs[graph.values[output].name] = {data, data + CountOf(runner->shape(output))};
  }
  return outputs;
}

/// To `relative` of the largest magnitude of each output, and to that of `least` where all are
/// smaller: they are differences of larger ones then. 0: exactly.
inline void ExpectSame(const NamedValues& expected, const NamedValues& actual, double relative,
                       double least = 0.1) {
  EXPECT_EQ(expected.size(), actual.size());
  for (const auto& output : expected) {
    SCOPED_TRACE("output " + output.first);
    const auto found = actual.find(output.first);
    if (found == actual.end() || found->second.size() != output.second.size()) {
      ADD_FAILURE() << "it is missing or has another shape";
      continue;
    }
    double largest = least, difference = 0;
    for (size_t i = 0; i < output.second.size(); ++i) {
      largest = std::max<double>(largest, std::fabs(output.second[i]));
      const double d = std::fabs(static_cast<double>(output.second[i]) - found->second[i]);
      if (!(d <= difference)) difference = std::isnan(d) ? INFINITY : d;
    }
    EXPECT_LE(difference, relative * largest);
  }
}

}  // namespace caffe::inference

#endif  // CAFFE_TEST_INFERENCE_TEST_HPP_
