#ifndef CAFFE_TOOLS_CAFFE_ENGINE_FLAGS_HPP_
#define CAFFE_TOOLS_CAFFE_ENGINE_FLAGS_HPP_

#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "../common/engine_building.hpp"
#include "caffe/inference/evaluation/accuracy_loss.hpp"
#include "caffe/inference/hint.hpp"
#include "calibration_flags.hpp"
#include "input_flags.hpp"

// The flags with which build, infer and compare choose the engine for a net.

DECLARE_string(precision);
DECLARE_string(layer_precision);
DECLARE_string(input_shape);
DECLARE_bool(reduce_range);
DECLARE_double(max_accuracy_loss);

namespace caffe {

/// What engine is built, and what INT8 needs.
std::vector<FlagGroup> EngineFlags();

/// Throws Error if what -plot, -timing_cache or one of `also` writes is read, or written twice.
void RequireOtherFiles(const std::vector<NamedFile>& also);
/// How -hint divides the threads; without it one context has them all. Throws Error where it is
/// given for a GPU.
inference::ThreadSplit ThreadsOfHint();
/// Says on `out` if an engine was tuned for another number of threads than each context will have.
void NoteTunedThreads(const inference::Engine& engine, std::ostream& out);
/// Makes mean and scale of images part of a net. Throws Error if there are none.
void NormalizeImages(const inference::ImagePreprocessing& preprocessing,
                     inference::NetworkDefinition* net);
/// Shapes of inputs by name: "NAME=1x3x300x300,NAME=1x3", or "1x3x300x300" for the only input,
/// whose name is "" then. Throws Error with the flag for anything else.
std::map<std::string, Shape> ParseShapes(const std::string& flag, const std::string& text);

/// Makes engines of a net as the flags say.
class EngineMaker {
 public:
  /// `param` is the net of -model with the state that the command line gives. Notes, and what
  /// calibration finds, go to `out`. With `for_all` engines of every precision can be built, of
  /// INT8 where there is a table or data to calibrate on; what calibration saw is kept. With
  /// `takes_pixels` mean and scale of images become part of the engines; calibration runs the net
  /// as it is, on images with mean and scale.
  EngineMaker(const NetParameter& param, std::vector<std::string> weights, std::ostream* out,
              bool for_all = false, bool takes_pixels = false);

  /// May be changed before a Build.
  inference::BuilderConfig config;
  const inference::NetworkDefinition& net() const { return net_; }
  /// What the flags say that engines shall run on.
  std::unique_ptr<InputBatches> EngineInputs(const Net<float>& net, int most_batches) const;
  /// What calibration saw; a null pointer if there was none, or it was not kept.
  const ActivationStatistics* statistics() const { return seen_ ? &seen_->statistics : nullptr; }

  std::shared_ptr<const inference::Engine> Build() const { return builder_.Build(net_, config); }

  /// Judges by FLOAT's results for these batches (at most `most`; 0: all) on the reference backend.
  inference::AccuracyLoss Judge(InputBatches* batches, int most, bool with_labels) const;

 private:
  void SetConfig();
  void SetClassNames();
  void SetPreprocessing();
  bool DemandsInt8() const;
  void SetCalibration();
  void SetAccuracyLoss(const Net<float>& net, bool data);

  const bool for_all_, takes_pixels_;
  const NetParameter param_;
  const std::vector<std::string> weights_;
  std::ostream* const out_;
  std::unique_ptr<Net<float>> calibrated_;  // seen_ is of it
  std::unique_ptr<CalibrationData> seen_;
  const CachedBuilder builder_;
  const inference::NetworkDefinition net_;
};

}  // namespace caffe

#endif  // CAFFE_TOOLS_CAFFE_ENGINE_FLAGS_HPP_
