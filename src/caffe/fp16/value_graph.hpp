#ifndef CAFFE_FP16_VALUE_GRAPH_HPP_
#define CAFFE_FP16_VALUE_GRAPH_HPP_

#include <string>
#include <utility>
#include <vector>

#include "caffe/net.hpp"

namespace caffe {

/// What a net computes, without the blobs' reuse: each layer makes values of its own, also where
/// it works in place, and reads those of others. Split layers that the net inserted are left out:
/// who reads their tops reads the value before them.
struct ValueGraph {
  struct LayerNode {
    int net_index;             ///< in Net::layers()
    std::vector<int> bottoms;  ///< values, one a bottom
    std::vector<int> tops;
  };
  struct Value {
    std::string blob;                          ///< the name that the net's file gives it
    std::string name;                          ///< its own name: see below
    int producer;                              ///< index into layers
    int top;                                   ///< which of the producer's
    std::vector<std::pair<int, int>> readers;  ///< index into layers, bottom
    /// The reader that overwrites the blob with its own result, -1 if none does. There is no other
    /// reader then.
    int overwriter = -1;
    /// It is fed to the net, or made of that by layers that work in place on it. Others that are
    /// overwritten lie inside a joined layer, as a rule.
    bool is_input = false;
  };

  /// Names of values, all different, are those of engines and calibration tables: the blob's for
  /// the last value that it has, "<blob>_before_<layer>" for one that the layer overwrites. What is
  /// fed to a net keeps the name that its user knows; "<blob>_after_<layer>" is then the last one.

  explicit ValueGraph(const Net<float>& net);

  std::vector<LayerNode> layers;
  std::vector<Value> values;

 private:
  void NameValues(const Net<float>& net);
};

}  // namespace caffe

#endif  // CAFFE_FP16_VALUE_GRAPH_HPP_
