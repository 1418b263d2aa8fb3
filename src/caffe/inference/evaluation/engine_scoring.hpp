#ifndef CAFFE_INFERENCE_ENGINE_SCORING_HPP_
#define CAFFE_INFERENCE_ENGINE_SCORING_HPP_

#include <memory>
#include <string>
#include <vector>

#include "caffe/inference/engine.hpp"
#include "caffe/inference/engine_batches.hpp"
#include "caffe/net.hpp"

namespace caffe::inference {

/// Scores an engine on the data of a net (train_val.prototxt) with the net's own layers: those that
/// read data make the engine's inputs and the labels; those that work on labels (Accuracy, losses,
/// DetectionEvaluate) read the engine's outputs in place of what the net would compute.
///
/// Where such a layer reads scores that became probabilities in the engine (as the Softmax of a
/// deploy.prototxt makes them), it gets their logarithms: these differ from the scores by a
/// constant, which neither Accuracy nor SoftmaxWithLoss can see. For Sigmoid likewise.
class EngineScoring {
 public:
  /// `net` is upgraded and in the state (TEST phase) that is to be scored. Throws Error: the net
  /// reads no data of its own; it lacks inputs of the engine; no layer scores what the engine
  /// makes.
  EngineScoring(const NetParameter& net, std::shared_ptr<const Engine> engine);

  /// Scores the next batch of the net's data: runs the engine, in pieces where its largest batch is
  /// smaller. Returns the outputs of the layers that score, and their loss.
  const std::vector<Blob<float>*>& Forward(float* loss);
  /// The layers that score.
  const Net<float>& net() const { return *scores_; }
  /// The layers that read data.
  const Net<float>& data() const { return *data_; }
  /// Layers that would score blobs that the engine lacks.
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  enum class Form { AS_IS, LOGARITHM, LOGIT };
  struct StandIn {
    std::string blob, output;
    Form form;
  };

  NetParameter ChooseScores(const NetParameter& filtered);
  Shape ShapeOf(const std::string& output, int batch) const;
  void MakeScores(const NetParameter& filtered, int batch);
  bool FindStandIn(const std::string& blob, StandIn* found) const;
  void GuessStandIn(const NetParameter& filtered);
  void Write(const NamedTensor& from, Form form, const std::string& blob);

  const std::shared_ptr<const Engine> engine_;
  ExecutionContext context_;
  std::unique_ptr<Net<float>> data_, scores_;
  std::unique_ptr<InputSource> source_;
  std::vector<std::string> from_data_;  // blobs that the scores read from the data
  std::vector<StandIn> stand_ins_;
  std::string guess_;  // a blob that the engine's only probabilities replace
  std::vector<std::string> left_out_;
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_ENGINE_SCORING_HPP_
