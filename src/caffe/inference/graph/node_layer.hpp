#ifndef CAFFE_INFERENCE_GRAPH_NODE_LAYER_HPP_
#define CAFFE_INFERENCE_GRAPH_NODE_LAYER_HPP_

#include <memory>
#include <string>
#include <vector>

#include "caffe/inference/graph.hpp"
#include "caffe/layer.hpp"

namespace caffe::inference {

/// A float layer on the caller's memory, in the TEST phase: it can run any node and infer its
/// shapes.
class NodeLayer {
 public:
  /// The layer of `param` for this many bottoms and tops, with `parameters`, which are borrowed
  /// where the layer allows it; empty: the fillers' values.
  NodeLayer(const LayerParameter& param, std::vector<Constant> parameters, size_t bottoms,
            size_t tops);

  /// Sets the layer up (the first time) and shapes it for bottoms of these shapes; returns those of
  /// the tops. Throws Error naming the layer.
  std::vector<Shape> Reshape(const std::vector<Shape>& bottoms);

  /// Computes from `bottoms`, elements of the shapes that Reshape got, into `tops`, of the shapes
  /// that it returned. A bottom of which the layer reads the shape alone may be nullptr; a top that
  /// is stays in the layer's own memory: top_data.
  void Run(const std::vector<const float*>& bottoms, const std::vector<float*>& tops);
  /// Elements in the caller's memory, in their layout.
  struct Place {
    void* data = nullptr;
    ElementType type = ElementType::FLOAT;
    Layout layout;
    bool on_device = false;  ///< in the memory of the calling thread's device
  };
  /// The same for elements of other types and layouts. Returns false if the layer computed in other
  /// ones than the tops', which were then converted.
  bool RunPlaced(const std::vector<Place>& bottoms, const std::vector<Place>& tops);
  /// RunPlaced, then drops other layouts of the operands: they are not worth keeping.
  bool RunAndForget(const std::vector<Place>& bottoms, const std::vector<Place>& tops);
  /// Computes in this type from now on (FLOAT or FLOAT16). Before Reshape.
  void set_type(ElementType type) { layer_->set_types(LayerTypes::All(type)); }
  /// The shape of a top after Run, and its elements if it got no memory.
  const Shape& top_shape(int top) const { return tops_[top]->shape(); }
  const float* top_data(int top) const { return tops_[top]->cpu_data(); }
  const float* top_data_on_device(int top) const { return tops_[top]->gpu_data(); }

  /// The parameters, sharing the layer's memory. After Reshape.
  std::vector<Constant> Parameters() const;
  Layer<float>& layer() { return *layer_; }

 private:
  void SetUp();
  void Forward(const std::vector<Shape>& shapes, const std::vector<bool>& fixed);

  std::vector<Constant> parameters_;
  std::vector<std::unique_ptr<Blob<float>>> blobs_;
  vector<Blob<float>*> bottoms_, tops_;
  boost::shared_ptr<Layer<float>> layer_;
  bool is_set_up_ = false;
};

/// The layers that compute a node: its own, then one for each step of its epilogue.
NodeLayer MainLayer(const Node& node);
std::vector<NodeLayer> EpilogueLayers(const Node& node);

/// True if the shapes of the node's outputs follow from those of its inputs alone, so that they are
/// known before it runs. False for custom layers, and for numbers of detections.
bool ShapesAreKnown(const Node& node);

/// The type of the node for a layer of this type. Passes and backends know types by their names and
/// must not mistake a layer that replaces the library's own for that one: it gets a type of its
/// own, "Permute (registered outside)".
std::string NodeType(const std::string& layer_type);

/// A blob's elements as a constant that keeps the blob alive.
Constant Share(const boost::shared_ptr<Blob<float>>& blob);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_GRAPH_NODE_LAYER_HPP_
