#ifndef CAFFE_RECURRENT_LAYER_HPP_
#define CAFFE_RECURRENT_LAYER_HPP_

#include <string>
#include <vector>

#include "caffe/layer.hpp"
#include "caffe/net.hpp"

// Programs take it from here, as from Caffe's header.
#include "caffe/util/format.hpp"

namespace caffe {

/// A layer whose steps in time are a net: a subclass says what the net for T steps is, and this
/// class runs it, hands the state from batch to batch and takes the net's parameters as its own.
/// (RNN and LSTM compute their steps directly: direct_recurrent_layer.hpp.)
///
/// Bottoms: the inputs (T, N, ...), which are the net's blob "x"; cont (T, N), its blob "cont", 0
/// where a sequence begins and 1 where the one of the step before goes on; if given, a static input
/// (N, ...), its "x_static"; with recurrent_param.expose_hidden the state before the first step, a
/// bottom for each RecurrentInputBlobNames. Tops: OutputBlobNames; with expose_hidden the state
/// after the last step, RecurrentOutputBlobNames. Without it the state goes on in the next batch;
/// its gradient does not. The parameters are those of the net, in its order, each once.
template <typename Dtype>
class RecurrentLayer : public Layer<Dtype> {
 public:
  explicit RecurrentLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  /// The state becomes zero.
  virtual void Reset();
  std::string SaveState() override;
  void RestoreState(const std::string& state) override;

  const char* type() const override { return "Recurrent"; }
  int MinBottomBlobs() const override;
  int MaxBottomBlobs() const override { return MinBottomBlobs() + 1; }
  int ExactNumTopBlobs() const override;
  bool AllowForceBackward(const int bottom_index) const override { return bottom_index != 1; }

 protected:
  /// Adds the net's layers for T_ steps behind its Input layer. Layers that share a parameter give
  /// it the same name.
  virtual void FillUnrolledNet(NetParameter* net_param) const = 0;
  /// Blobs before the first step (made by Input layers of FillUnrolledNet's), and their shapes.
  virtual void RecurrentInputBlobNames(vector<string>* names) const = 0;
  virtual void RecurrentInputShapes(vector<BlobShape>* shapes) const = 0;
  /// Blobs after the last step, in the same order.
  virtual void RecurrentOutputBlobNames(vector<string>* names) const = 0;
  virtual void OutputBlobNames(vector<string>* names) const = 0;

  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;

  shared_ptr<Net<Dtype>> unrolled_net_;
  int N_ = 0;  ///< sequences
  int T_ = 0;  ///< steps
  bool static_input_ = false;
  int last_layer_index_ = 0;  ///< in the net, before the losses that make it run backward
  bool expose_hidden_ = false;
  vector<Blob<Dtype>*> recur_input_blobs_, recur_output_blobs_, output_blobs_;
  Blob<Dtype>* x_input_blob_ = nullptr;
  Blob<Dtype>* x_static_input_blob_ = nullptr;
  Blob<Dtype>* cont_input_blob_ = nullptr;

 private:
  NetParameter UnrolledNet(const vector<Blob<Dtype>*>& bottom) const;
  vector<Blob<Dtype>*> BlobsCalled(const vector<string>& names) const;
  int FirstStateBottom() const { return 2 + static_input_; }
};

}  // namespace caffe

#endif  // CAFFE_RECURRENT_LAYER_HPP_
