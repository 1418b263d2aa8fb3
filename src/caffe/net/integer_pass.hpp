#ifndef CAFFE_INTEGER_PASS_HPP_
#define CAFFE_INTEGER_PASS_HPP_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "caffe/inference/engine.hpp"
#include "caffe/inference/quantize/trained_part.hpp"
#include "caffe/layer.hpp"

namespace caffe {

template <typename Dtype>
class FakeQuantizationLayer;

/// The forward pass of the TEST phase of a net with quantized_training as its engine has it: what
/// comes out of the net's rounded part (inference::TrainedPart) is computed by an engine of
/// integers, from what is fed to the net. The layers between run as always, in floats: from equal
/// inputs each is off by a step for one element in thousands, which deep nets amplify.
///
/// The FakeQuantization layers of the part's inputs and outputs call in here.
template <typename Dtype>
class IntegerPass {
 public:
  using Layers = vector<shared_ptr<Layer<Dtype>>>;

  /// `layers` are the net's, set up; they must live as long.
  IntegerPass(inference::TrainedPart part, const Layers& layers);
  ~IntegerPass();
  IntegerPass(const IntegerPass&) = delete;
  IntegerPass& operator=(const IntegerPass&) = delete;

  /// What the layers' parameters are now is what the passes from here on compute with.
  void Begin();
  /// Until Begin, layers round what they get.
  void End() { is_on_ = false; }

 private:
  uint64_t Stamp() const;
  uint64_t Contents() const;
  void Take(const string& input, const Blob<Dtype>& blob);
  bool Give(const string& output, Blob<Dtype>* blob);
  bool MakeEngine();

  const inference::TrainedPart part_;
  vector<Layer<Dtype>*> layers_;  // those of the part, and all FakeQuantization layers
  vector<FakeQuantizationLayer<Dtype>*> hooked_;
  bool is_on_ = false;
  NetParameter weights_;  // of layers_, when they changed last
  std::map<string, vector<float>> inputs_;
  std::map<string, Shape> shapes_;                        // of these
  std::unique_ptr<inference::ExecutionContext> context_;  // null: not made, or not possible
  bool has_run_ = false;                                  // with these inputs
  bool failed_ = false;  // no engine can be made of what the parameters are now
  uint64_t stamp_ = 0, contents_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_INTEGER_PASS_HPP_
