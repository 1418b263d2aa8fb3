#ifndef CAFFE_DIRECT_RECURRENT_LAYER_HPP_
#define CAFFE_DIRECT_RECURRENT_LAYER_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "caffe/layers/recurrent_layer.hpp"

namespace caffe {

struct ParameterBlob;

/// What RNN and LSTM have in common: N sequences of T inputs go through T steps that share their
/// weights and hand a state (h; c of an LSTM) on.
///
/// Bottoms: the inputs (T, N, ...); cont (T, N), 0 where a sequence begins and 1 where the one of
/// the step before goes on; if given, a static input (N, ...) that every step sees; with
/// recurrent_param.expose_hidden the state before the first step, (1, N, D) each. Tops: the outputs
/// (T, N, D), D being num_output; with expose_hidden the state after the last step. Without it
/// the state is kept: a sequence may go on in the next batch (its gradient does not; Reset begins
/// again, as does another N).
///
/// Parameters, in Caffe's order: W_x (G, inputs), b (G), W_x_static (G, static inputs) if there is
/// a static input, W_h (G, D), then the subclass's; G is D times the number of gates.
///
/// Instead of a net for all steps (recurrent_layer.hpp) each step is computed directly, in Dtype,
/// with one matrix product for the inputs of all steps. Subclasses say what a step is.
template <typename Dtype>
class DirectRecurrentLayer : public RecurrentLayer<Dtype> {
 public:
  explicit DirectRecurrentLayer(const LayerParameter& param) : RecurrentLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  /// The state becomes zero.
  void Reset() override;
  std::string SaveState() override;
  void RestoreState(const std::string& state) override;

  int MinBottomBlobs() const override { return 2 + ExposedStates(); }
  int MaxBottomBlobs() const override { return 3 + ExposedStates(); }
  int ExactNumTopBlobs() const override { return 1 + ExposedStates(); }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif

  virtual int states() const = 0;  ///< h alone: 1; h and c: 2
  virtual int gates() const = 0;
  /// num_output, fillers, expose_hidden.
  virtual RecurrentParameter Parameters() const { return this->layer_param_.recurrent_param(); }
  virtual std::vector<Shape> TopShapes(const std::vector<Shape>& bottoms) const;
  /// Sets T_ and N_.
  virtual void SetLengths(const Shape& input);
  /// (T, N) values.
  virtual const Dtype* Continuation(const vector<Blob<Dtype>*>& bottom) {
    return bottom[1]->cpu_data();
  }
  /// False: the first step's state is zero.
  virtual bool KeepsState(const vector<Blob<Dtype>*>&) const { return true; }
  /// For this many values of an input, and of a static one.
  virtual std::vector<ParameterBlob> NeededParameters(int inputs, int static_inputs) const;
  /// Step `t`: from its gates' inputs and state(., t) to state(., t + 1).
  virtual void Step(int t, const Dtype* cont) = 0;
  /// The gradients of the gates' inputs and of state(1, t) from those of state(., t + 1).
  virtual void StepGradient(int t, const Dtype* cont) = 0;
  /// The outputs, (T, N, D): h of all steps unless a layer makes something of them.
  virtual const Dtype* Outputs() { return state(0, 1); }
  /// dh (T, N, D): from the outputs' gradients to those of h; adds those of own parameters.
  virtual void OutputGradient(Dtype* /*dh*/) {}

#ifndef CPU_ONLY
  // The same for Forward_gpu and Backward_gpu; all pointers are device memory.
  virtual const Dtype* GpuContinuation(const vector<Blob<Dtype>*>& bottom) {
    return bottom[1]->gpu_data();
  }
  virtual void GpuStep(int t, const Dtype* cont) = 0;
  virtual void GpuStepGradient(int t, const Dtype* cont) = 0;
  virtual const Dtype* GpuOutputs() { return gpu_state(0, 1); }
  virtual void GpuOutputGradient(Dtype* /*dh*/) {}

  Dtype* gpu_state(int which, int t) { return state_[which].mutable_gpu_data() + RowOffset(t); }
  Dtype* gpu_state_diff(int which, int t) {
    return state_[which].mutable_gpu_diff() + RowOffset(t);
  }
  Dtype* gpu_gate(int t) { return gates_.mutable_gpu_data() + RowOffset(t) * gates(); }
  Dtype* gpu_gate_diff(int t) { return gates_.mutable_gpu_diff() + RowOffset(t) * gates(); }
#endif

  /// Row `t` of state number `which`, (N, D); t = 0 is the state before the first step.
  Dtype* state(int which, int t) { return state_[which].mutable_cpu_data() + RowOffset(t); }
  Dtype* state_diff(int which, int t) { return state_[which].mutable_cpu_diff() + RowOffset(t); }
  /// State number `which` after the latest batch, (N, D).
  Blob<Dtype>& kept(int which) { return kept_[which]; }
  /// What state number `which` is before the first step, if it is not zero.
  const Blob<Dtype>& StateBefore(int which, const vector<Blob<Dtype>*>& bottom) const {
    return expose_hidden_ ? *bottom[FirstStateBottom() + which] : kept_[which];
  }
  Dtype* gate(int t) { return gates_.mutable_cpu_data() + RowOffset(t) * gates(); }
  Dtype* gate_diff(int t) { return gates_.mutable_cpu_diff() + RowOffset(t) * gates(); }

  using RecurrentLayer<Dtype>::N_;
  using RecurrentLayer<Dtype>::T_;
  using RecurrentLayer<Dtype>::static_input_;
  using RecurrentLayer<Dtype>::expose_hidden_;
  int D_ = 0;  ///< num_output
  /// Which of blobs_ is what.
  int input_weights_ = 0, bias_ = 1, static_weights_ = 2, hidden_weights_ = 2;

  // There is no net inside.
  void FillUnrolledNet(NetParameter* net) const final;
  void RecurrentInputBlobNames(vector<string>* names) const final;
  void RecurrentInputShapes(vector<BlobShape>* shapes) const final;
  void RecurrentOutputBlobNames(vector<string>* names) const final;
  void OutputBlobNames(vector<string>* names) const final;

 private:
  size_t RowOffset(int t) const { return size_t(t) * N_ * D_; }
  int ExposedStates() const { return Parameters().expose_hidden() ? states() : 0; }
  int FirstStateBottom() const { return 2 + static_input_; }
  template <typename T>
  void AddInputs(const vector<Blob<Dtype>*>& bottom);
#ifndef CPU_ONLY
  template <typename T>
  void GpuAddInputs(const vector<Blob<Dtype>*>& bottom);
  /// The gradient of a matrix W in x W^T, and, if `to_blob`, of x, for `items` rows x of `blob`.
  void GpuPropagate(int items, const Dtype* d_rows, int weights_index, bool to_blob,
                    Blob<Dtype>* blob);
#endif
  void WriteDebugInfo(const Dtype* outputs) const;

  Blob<Dtype> state_[2];  // (T + 1, N, D)
  Blob<Dtype> kept_[2];   // (N, D): the state after the latest batch
  Blob<Dtype> gates_;     // (T, N, G)
  Blob<Dtype> conted_;    // (T, N, D): cont times h of the step before
};

/// num_output of a message `field`: Error unless it is positive and four times as many rows can be
/// counted.
int RecurrentOutputs(const char* field, uint32_t num_output);

/// The tops of a DirectRecurrentLayer with that many states.
std::vector<Shape> RecurrentShapes(const RecurrentParameter& param, int states,
                                   const std::vector<Shape>& bottoms);

}  // namespace caffe

#endif  // CAFFE_DIRECT_RECURRENT_LAYER_HPP_
