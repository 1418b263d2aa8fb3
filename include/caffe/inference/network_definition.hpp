#ifndef CAFFE_INFERENCE_NETWORK_DEFINITION_HPP_
#define CAFFE_INFERENCE_NETWORK_DEFINITION_HPP_

#include <string>
#include <vector>

#include "caffe/inference/graph.hpp"
#include "caffe/net.hpp"

namespace caffe {
namespace inference {

/// What a net computes in the TEST phase, split layers that the net inserted left out. Its Input
/// layers and the layers that read data become inputs. The graph shares the net's parameters, which
/// nobody may write afterwards; statistics of BatchNorm are copied, with their factor taken out.
Graph GraphOf(const Net<float>& net);

/// A net to be built: read from Caffe's files, or put together layer by layer:
///
///     NetworkDefinition net("small");
///     net.AddInput("data", {1, 3, 32, 32});
///     LayerParameter conv = ...;              // name, type, bottom, top, convolution_param
///     net.AddLayer(conv, {weights, bias});
///     net.MarkOutput("conv1");
class NetworkDefinition {
 public:
  explicit NetworkDefinition(const std::string& name) { graph_.name = name; }
  explicit NetworkDefinition(Graph graph) : graph_(std::move(graph)) {}

  /// A net of Caffe's of any age, in the TEST phase, run in FLOAT whatever types its layers name,
  /// with the weights of these files (.caffemodel or HDF5) on top of what its fillers make. Its
  /// level and stages are those of `net.state`. Throws Error with file, layer and field.
  static NetworkDefinition FromCaffe(NetParameter net, const std::vector<std::string>& weights);
  static NetworkDefinition FromCaffe(const std::string& model,
                                     const std::vector<std::string>& weights);

  /// Axis 0 is the batch.
  void AddInput(const std::string& name, const Shape& shape);
  /// Appends a layer. Its bottoms are named before; a top named as a bottom of it is a new value,
  /// which the name means from here on. `parameters` are the layer's blobs; none: those in `layer`,
  /// else what its fillers make. Throws Error naming the layer.
  void AddLayer(const LayerParameter& layer, const std::vector<Constant>& parameters = {});
  /// Throws Error if there is no such value. Unmarked values can be optimized away.
  void MarkOutput(const std::string& name);

  const std::string& name() const { return graph_.name; }
  /// Throws Error if something is missing.
  const Graph& graph() const;

 private:
  Graph graph_;
};

}  // namespace inference
}  // namespace caffe

#endif  // CAFFE_INFERENCE_NETWORK_DEFINITION_HPP_
