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

/// The graph of what a net computes in the TEST phase, without the Split layers that the net
/// inserted. Its Input and data layers become inputs. Parameters are copied; the factor of
/// BatchNorm's statistics is divided out.
Graph GraphOf(const Net<float>& net);

/// The net that a graph stands for, with copies of its parameters as blobs: GraphOf a Net made from
/// it computes the same outputs. Blobs have the names of the graph's values; constants become
/// Parameter layers, steps of an epilogue layers of their own, and values that are neither read nor
/// outputs go into a Silence layer. Outputs that a layer also reads are blobs, but not outputs, as
/// in every Caffe net (NetworkDefinition::MarkOutput makes them outputs again). Plans of memory,
/// types and implementations are left out. Throws Error, with the layer, for parameters that are
/// not FLOAT.
NetParameter ToNetParameter(const Graph& graph);

struct TrainedRanges;

/// BlobCalibration::method of ranges from training.
constexpr char kTrainedMethod[] = "trained";

/// A net to be built: read from Caffe's files, or assembled layer by layer:
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

  /// A Caffe net of any version, in the TEST phase, computed in FLOAT whatever types its layers
  /// name, with the weights of these files (.caffemodel or HDF5) on top of its fillers' values. Its
  /// level and stages are those of `net.state`. Throws Error with file, layer and field.
  static NetworkDefinition FromCaffe(NetParameter net, const std::vector<std::string>& weights);
  static NetworkDefinition FromCaffe(const std::string& model,
                                     const std::vector<std::string>& weights);

  /// Axis 0 is the batch.
  void AddInput(const std::string& name, const Shape& shape);
  /// Appends a layer. Its bottoms exist already; a top with the name of a bottom is a new value,
  /// which the name refers to from here on. `parameters` are the layer's blobs; empty: those in
  /// `layer`, else its fillers' values. Throws Error naming the layer.
  void AddLayer(const LayerParameter& layer, const std::vector<Constant>& parameters = {});
  /// Throws Error if there is no such value. Unmarked values can be optimized away.
  void MarkOutput(const std::string& name);

  /// Makes (x - mean) * scale part of the net, so that an input takes raw pixels: the layers read
  /// the result as a value "<input>_normalized", and the optimizer folds it into their weights
  /// where it can. `mean` has a value a channel (axis 1), one for all, one for each element of an
  /// item (a mean image), or none (0). Throws Error if there is no such input, for another number
  /// of values, values that are not finite, or a scale of 0.
  ///
  /// A calibration table of the net without this remains valid: if it lacks a blob
  /// "<input>_normalized", its entry of the input is taken for the normalized values, and the
  /// input's own range follows from it, wider than necessary where means differ. SetRange states it
  /// exactly: pixels are 0 to 255.
  void NormalizeInput(const std::string& input, const std::vector<float>& mean, float scale);

  /// The type in which a layer computes, whatever BuilderConfig::precision says; BEST: the builder
  /// chooses. Throws Error if there is no such layer.
  void SetPrecision(const std::string& layer, Precision precision);
  /// States the range of a blob's values, so that INT8 needs no calibration of it: the larger
  /// magnitude is the threshold, and integers are unsigned if `minimum` is not negative. Of a blob
  /// that layers change in place it is the range of the final values. Throws Error if there is no
  /// such value, or unless minimum <= maximum are finite and not both 0.
  void SetRange(const std::string& blob, float minimum, float maximum);

  /// The arguments of NormalizeInput.
  struct Normalization {
    std::string input, normalized;  ///< names of values
    std::vector<float> mean;
    float scale = 1;
  };
  const std::vector<Normalization>& normalizations() const { return normalizations_; }

  /// Defaults of BuilderConfig::quantization:
  /// the `quantization` of a Caffe net.
  void SetQuantization(const Quantization& quantization) { quantization_ = quantization; }
  const Quantization& quantization() const { return quantization_; }
  /// Ranges from quantization-aware training, which need no calibration. Blobs that the net lacks
  /// are ignored.
  void TakeTraining(const TrainedRanges& trained);

  /// The layers' precisions (SetPrecision).
  const std::map<std::string, Precision>& layer_precisions() const { return layer_precisions_; }
  /// The blobs' ranges (SetRange), with the method "given".
  const CalibrationTable& ranges() const { return ranges_; }

  const std::string& name() const { return graph_.name; }
  /// Throws Error if it is incomplete.
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
