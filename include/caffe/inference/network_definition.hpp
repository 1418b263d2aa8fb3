#ifndef CAFFE_INFERENCE_NETWORK_DEFINITION_HPP_
#define CAFFE_INFERENCE_NETWORK_DEFINITION_HPP_

#include <map>
#include <string>
#include <vector>

#include "caffe/inference/calibration_table.hpp"
#include "caffe/inference/graph.hpp"
#include "caffe/inference/precision.hpp"
#include "caffe/inference/quantization.hpp"
#include "caffe/net.hpp"

namespace caffe::inference {

/// What a net computes in the TEST phase, split layers that the net inserted left out. Its Input
/// layers and the layers that read data become inputs. Parameters are copied; the factor of
/// BatchNorm's statistics is taken out.
Graph GraphOf(const Net<float>& net);

/// The net that a graph stands for, with copies of its parameters as blobs: GraphOf a Net that is
/// made of it computes the same outputs. Blobs have the names of the graph's values; constants
/// become Parameter layers, steps of an epilogue layers of their own, and what is neither read nor
/// an output goes into a Silence layer. Of outputs that a layer reads too there is the blob, but as
/// in every net of Caffe's they are no outputs (NetworkDefinition::MarkOutput makes them some).
/// Plans of memory, types and implementations are left out. Throws Error, with the layer, for
/// parameters that are not FLOAT.
NetParameter ToNetParameter(const Graph& graph);

struct TrainedRanges;

/// BlobCalibration::method of ranges that training has found.
constexpr char kTrainedMethod[] = "trained";

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

  /// Makes (x - mean) * scale part of the net, so that an input takes pixels as they are: layers
  /// that were trained on the result read it, as a value "<input>_normalized", and the optimizer
  /// folds it into the weights of those that it can. `mean` has a value a channel (axis 1), one for
  /// all, one for each element of an item (a mean picture), or none (0). Throws Error if there is
  /// no such input, for another number of values, values that are not finite, or a scale of 0.
  ///
  /// A calibration table that was made of the net without this is good for it: without a blob
  /// "<input>_normalized" what it says of the input is meant of the normalized values, and the
  /// input's own range follows, larger than it is where means differ. SetRange says it exactly:
  /// pixels lie from 0 to 255.
  void NormalizeInput(const std::string& input, const std::vector<float>& mean, float scale);

  /// The type in which a layer shall compute, whatever BuilderConfig::precision says; BEST: the
  /// builder chooses. Throws Error if there is no such layer.
  void SetPrecision(const std::string& layer, Precision precision);
  /// Says that a blob's values lie between these, so that INT8 needs no calibration of it: they
  /// become the integers up to the larger magnitude, unsigned ones if `minimum` is not negative.
  /// The blob is what has this name in the end, behind layers that work in place. Throws Error if
  /// there is no such value, or unless minimum <= maximum are finite and not both 0.
  void SetRange(const std::string& blob, float minimum, float maximum);

  /// What NormalizeInput said of an input.
  struct Normalization {
    std::string input, normalized;  ///< names of values
    std::vector<float> mean;
    float scale = 1;
  };
  const std::vector<Normalization>& normalizations() const { return normalizations_; }

  /// The numbers of INT8 engines where BuilderConfig::quantization does not say them: of a net of
  /// Caffe's its `quantization`.
  void SetQuantization(const Quantization& quantization) { quantization_ = quantization; }
  const Quantization& quantization() const { return quantization_; }
  /// Ranges that quantization-aware training has found, which need no calibration then. Blobs that
  /// the net lacks are left out.
  void TakeTraining(const TrainedRanges& trained);

  /// What SetPrecision said, by layer.
  const std::map<std::string, Precision>& layer_precisions() const { return layer_precisions_; }
  /// What SetRange said; the method of each is "given".
  const CalibrationTable& ranges() const { return ranges_; }

  const std::string& name() const { return graph_.name; }
  /// Throws Error if something is missing.
  const Graph& graph() const;

 private:
  Graph graph_;
  std::map<std::string, Precision> layer_precisions_;
  CalibrationTable ranges_;
  Quantization quantization_;
  std::vector<Normalization> normalizations_;
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_NETWORK_DEFINITION_HPP_
