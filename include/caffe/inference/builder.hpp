#ifndef CAFFE_INFERENCE_BUILDER_HPP_
#define CAFFE_INFERENCE_BUILDER_HPP_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "caffe/inference/calibration_table.hpp"
#include "caffe/inference/calibrator.hpp"
#include "caffe/inference/engine.hpp"
#include "caffe/inference/layer_candidates.hpp"
#include "caffe/inference/network_definition.hpp"
#include "caffe/inference/precision.hpp"
#include "caffe/inference/quantization.hpp"
#include "caffe/inference/shape_profile.hpp"
#include "caffe/inference/timing_cache.hpp"

namespace caffe::inference {

/// What computes an engine's layers.
enum class Backend {
  CPU,        ///< the fastest implementation of each layer, by measurement
  REFERENCE,  ///< every layer by its own Layer, in FLOAT: the oracle
  CUDA        ///< the same as CPU on the calling thread's GPU (Caffe::SetDevice)
};

/// How an engine is built.
struct BuilderConfig {
  Precision precision = Precision::FP32;
  /// Overrides `precision`, by layer. An unknown layer is an Error.
  std::map<std::string, Precision> layer_precisions;

  int max_batch = 0;  ///< 0: the batch that the net's inputs have
  /// The largest shapes of inputs, by name, where they differ from the net's. Smaller ones can be
  /// run if the net can be reshaped to them (ExecutionContext::SetInputShape). The name of a net's
  /// only input may be "".
  std::map<std::string, Shape> max_input_shapes;
  /// Ranges of input shapes that the engine runs, instead of max_batch and max_input_shapes: the
  /// smallest, the largest and the one that implementations are chosen for. Each profile is tuned
  /// separately and has its own memory. Without profiles every shape up to the largest can be run
  /// that the net accepts; but where layers compute from the extents of their bottoms alone
  /// (PriorBox), these are folded, and smaller batches are all that differs.
  std::vector<ShapeProfile> profiles;

  /// How images become the net's input, stored for users of the engine. If it names no input, it is
  /// for the only one that can take images. Default: that of NormalizeInput, if it was called.
  std::optional<ImagePreprocessing> preprocessing;
  std::vector<std::string> class_names;  ///< by label

  /// For INT8: how real numbers become integers, and what is computed with these alone.
  Quantization quantization;
  /// For INT8, one of the two: a table of thresholds, or a calibrator, which runs the net in FLOAT.
  std::shared_ptr<const CalibrationTable> calibration;
  std::shared_ptr<Calibrator> calibrator;
  CalibrationOptions calibration_options;

  /// For BEST: judges a candidate engine. A smaller number is better, 0 is as good as FLOAT (for
  /// example the share of images that are no longer recognised). Without it every allowed type is
  /// accepted.
  std::function<double(const std::shared_ptr<const Engine>&)> accuracy_loss;
  /// What accuracy_loss may return at most. Where no engine is as good, that in FP32 is built, with
  /// a remark.
  double max_accuracy_loss = 0;
  /// Types that BEST chooses from.
  std::vector<Precision> allowed = {Precision::FP32, Precision::FP16, Precision::BF16,
                                    Precision::INT8};

  Backend backend = Backend::CPU;
  /// On a GPU: FLOAT products may round their factors to TF32's 10 bits, to use tensor cores.
  bool tensor_float = false;
  /// On the CPU: the number of threads that candidates are timed with, which should be that of
  /// contexts; 0: Caffe::threads().
  int threads = 0;
  int timing_iterations = 5;  ///< runs of each candidate; the least time counts. 0: no timing
  std::shared_ptr<TimingCache> timing_cache;  ///< read and added to; may be null
  size_t max_workspace = 0;  ///< bytes of scratch memory that a layer may need; 0: any
  /// Bytes of weights, activations and scratch together; 0: any. Where the fastest engine needs
  /// more, others with a smaller max_workspace are built, with a remark each.
  size_t max_memory = 0;

  std::vector<std::string> skip_passes;  ///< names that `caffe build -list_passes` lists
  PassObserver pass_observer;            ///< sees the graph before the first and after each pass
  /// Called while candidates are timed: layers done, of how many, the layer.
  std::function<void(int done, int of, const std::string& layer)> progress;
  /// Called for each layer, in order, when kernels have been chosen. BEST with accuracy_loss: of
  /// the first engine, for which all types are tried. With max_memory: of each that is built.
  std::function<void(const LayerCandidates& candidates)> on_candidates;
  /// Called with a line for each request that could not be met (a layer that stays FP32, a loss of
  /// accuracy, max_memory), and for each blob that loses half of its 8 bits by a range that it
  /// shares.
  std::function<void(const std::string& line)> remark;
};

/// Optimizes a net and makes an engine of it:
///
///     const auto net = NetworkDefinition::FromCaffe("deploy.prototxt", {"w.caffemodel"});
///     BuilderConfig config;
///     config.precision = Precision::FP16;
///     const auto engine = Builder(config).Build(net);
///     engine->Save("net.plan");
class Builder {
 public:
  explicit Builder(BuilderConfig config = BuilderConfig()) : config_(std::move(config)) {}

  /// Throws Error naming the pass, layer or value; with the layer and the implementation where a
  /// kernel fails while it is timed; for a preprocessing that does not fit the net or contradicts
  /// NormalizeInput; for INT8 without calibration; where max_memory does not suffice, with the size
  /// that is needed; for a profile whose extents are not in order, or with the layer that cannot be
  /// run at its smallest, tuned or largest shapes.
  std::shared_ptr<const Engine> Build(const NetworkDefinition& net) const;

 private:
  BuilderConfig config_;
};

/// What an INT8 engine of integers alone computes, before kernels are chosen: the optimized graph
/// whose integer nodes (Node::integers) have integers for parameters, and whose values have their
/// type, scale and zero point. For export. Throws Error as Builder::Build does, and unless
/// config.quantization.arithmetic is INTEGER or INTEGER_ONLY.
Graph QuantizedGraph(const NetworkDefinition& net, const BuilderConfig& config);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BUILDER_HPP_
