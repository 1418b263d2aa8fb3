#ifndef CAFFE_LAYER_HPP_
#define CAFFE_LAYER_HPP_

#include <algorithm>
#include <string>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/common.hpp"
#include "caffe/layer_factory.hpp"
#include "caffe/operation.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/types.hpp"
#include "caffe/util/math_functions.hpp"

namespace caffe {

struct Pointwise;

/// The unit of computation: takes bottom blobs, fills top blobs, and turns the tops' gradients
/// into the bottoms' and its parameters'.
///
/// A subclass implements LayerSetUp (read parameters, make blobs_), Reshape (shape the tops from
/// the bottoms; called before every forward pass), Forward_cpu, Backward_cpu and, where it has a
/// GPU path, Forward_gpu and Backward_gpu. SetUp, Forward and Backward are not overridden.
///
/// Storage and math types are run-time properties: a layer that knows several dispatches once per
/// pass on forward_type() and backward_type() and takes its pointers with ..._as<T>(); a layer
/// that uses cpu_data() and the like works in any net, the blobs convert.
template <typename Dtype>
class Layer {
 public:
  explicit Layer(const LayerParameter& param);
  virtual ~Layer() {}

  /// Checks the number of blobs, calls LayerSetUp and Reshape, declares the storage types of the
  /// parameters and sets the loss weights.
  void SetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);

  virtual void LayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                          const vector<Blob<Dtype>*>& /*top*/) {}
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) = 0;

  /// Reshapes, computes the tops, and returns the weighted sum of those that are losses.
  Dtype Forward(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  /// Computes the gradients of the parameters (added to their diffs, where
  /// param_propagate_down(i)) and of the bottoms (written, where propagate_down[i]).
  void Backward(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                const vector<Blob<Dtype>*>& bottom);

  /// True if the library's own creator of its type made it. Classes of programs may override any of
  /// its functions, so nets call DescribePointwise, FuseFollowers, JoinLayers and what belongs to
  /// these only where this is true, whatever class a program's layer derives from.
  bool is_built_in() const { return is_built_in_; }
  /// What the layer computes in the TEST phase with its parameters of now, if that is a scale, a
  /// shift and an activation of its only bottom; false otherwise.
  virtual bool DescribePointwise(Pointwise* /*description*/) { return false; }
  /// Offers the layers behind this one that work in place on its only top, one after the other.
  /// Returns how many of the first of them ForwardFused and, in the TRAIN phase, BackwardFused do
  /// the work of, on the CPU and, where FusesOnGpu(), on a GPU.
  virtual int FuseFollowers(const vector<Layer<Dtype>*>& /*followers*/) { return 0; }
  virtual bool FusesOnGpu() const { return false; }
  /// Offers the layers behind this one, in the order in which they run, to be computed with it.
  /// True: this layer keeps them, and ForwardJoined may be called; false: nothing is joined.
  ///
  /// The caller has set up all of them, calls this after FuseFollowers, and sees to it that each
  /// has one bottom, which is the only top of the layer before it and which, but for fused
  /// followers, no other layer reads or writes; that none has a loss weight; and that all outlive
  /// the last call of ForwardJoined.
  virtual bool JoinLayers(const vector<Layer<Dtype>*>& /*next*/) { return false; }
  /// Computes the tops of the last layer that was joined from this layer's bottoms, in the TEST
  /// phase on the CPU, with what the fused followers of each compute; tops between are not written.
  /// All layers have been reshaped. Returns false, and writes nothing, if nothing is joined or the
  /// layers are computed one by one in these shapes, with this number of threads.
  virtual bool ForwardJoined(const vector<Blob<Dtype>*>& /*bottom*/,
                             const vector<Blob<Dtype>*>& /*top*/) {
    return false;
  }
  /// Forward, and what the fused followers compute.
  Dtype ForwardFused(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  /// Backward, and what the fused followers compute, which must not run then.
  void BackwardFused(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                     const vector<Blob<Dtype>*>& bottom);

  vector<shared_ptr<Blob<Dtype>>>& blobs() { return blobs_; }
  const LayerParameter& layer_param() const { return layer_param_; }
  /// The layer's parameter message with its blobs in the form BVLC Caffe reads.
  virtual void ToProto(LayerParameter* param, bool write_diff = false);
  /// What computes the layer's forward passes, for people to read: "native" (this library's
  /// kernels), "native, joined" (the last pass: ForwardJoined of this layer or of one before it),
  /// "oneDNN", "oneDNN BFLOAT16" (which multiplies it), "reference". Right after Reshape; layers
  /// with one implementation are "native".
  virtual const char* forward_engine() const { return "native"; }

  ElementType forward_type() const { return types_.forward_type; }
  ElementType backward_type() const { return types_.backward_type; }
  ElementType forward_math() const { return types_.forward_math; }
  ElementType backward_math() const { return types_.backward_math; }
  const LayerTypes& types() const { return types_; }
  /// Before SetUp. A layer starts with what its own fields say (OwnTypes).
  void set_types(const LayerTypes& types) { types_ = types; }

  Dtype loss(const int top_index) const {
    return static_cast<int>(loss_.size()) > top_index ? loss_[top_index] : Dtype(0);
  }
  void set_loss(const int top_index, const Dtype value) {
    if (static_cast<int>(loss_.size()) <= top_index) loss_.resize(top_index + 1, Dtype(0));
    loss_[top_index] = value;
  }

  virtual inline const char* type() const { return ""; }

  // The number of blobs a layer takes and makes; -1 means no condition.
  virtual inline int ExactNumBottomBlobs() const { return -1; }
  virtual inline int MinBottomBlobs() const { return -1; }
  virtual inline int MaxBottomBlobs() const { return -1; }
  virtual inline int ExactNumTopBlobs() const { return -1; }
  virtual inline int MinTopBlobs() const { return -1; }
  virtual inline int MaxTopBlobs() const { return -1; }
  virtual inline bool EqualNumBottomTopBlobs() const { return false; }
  /// True if the net may add anonymous tops up to the required number.
  virtual inline bool AutoTopBlobs() const { return false; }
  /// False if force_backward shall not reach this bottom (labels).
  virtual inline bool AllowForceBackward(const int /*bottom_index*/) const { return true; }
  /// Whether Forward keeps what Backward needs and no blob holds: in the TRAIN phase, and in nets
  /// that say force_backward. In other nets of the TEST phase it would cost all that never ask for
  /// a gradient.
  bool keeps_for_backward() const { return phase_ == TRAIN || force_backward_; }
  /// Before the first pass: the layer is one of a net with force_backward.
  void set_force_backward(bool value) { force_backward_ = value; }

  // Caffe's before 1.0, in which nets of several solvers could have a layer in common: none has.
  virtual inline bool ShareInParallel() const { return false; }
  inline bool IsShared() const { return false; }
  inline void SetShared(bool /*is_shared*/) {}

  bool param_propagate_down(const int param_id) const {
    return static_cast<int>(param_propagate_down_.size()) > param_id &&
           param_propagate_down_[param_id];
  }
  void set_param_propagate_down(const int param_id, const bool value) {
    if (static_cast<int>(param_propagate_down_.size()) <= param_id) {
      param_propagate_down_.resize(param_id + 1, true);
    }
    param_propagate_down_[param_id] = value;
  }

  /// What a resumed run needs of this layer beyond its blobs (a data layer's position); "" if
  /// nothing. RestoreState takes it back and throws Error if it does not fit.
  virtual std::string SaveState() { return std::string(); }
  virtual void RestoreState(const std::string& /*state*/) {}

  /// The items of an epoch, one pass through the source of a data layer, all solvers' together; 0
  /// where there is no source, or none that ends. After SetUp; may read the whole source.
  virtual uint64_t EpochItems() { return 0; }

 protected:
  LayerParameter layer_param_;
  Phase phase_;
  vector<shared_ptr<Blob<Dtype>>> blobs_;
  vector<bool> param_propagate_down_;
  vector<Dtype> loss_;

  virtual void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) = 0;
  virtual void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    Forward_cpu(bottom, top);
  }
  virtual void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom) = 0;
  virtual void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom) {
    Backward_cpu(top, propagate_down, bottom);
  }
  /// The same, with the work of the fused followers (FuseFollowers).
  virtual void Forward_fused(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    Forward_cpu(bottom, top);
  }
  virtual void Backward_fused(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                              const vector<Blob<Dtype>*>& bottom) {
    Backward_cpu(top, propagate_down, bottom);
  }
  virtual void Forward_fused_gpu(const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
    Forward_fused(bottom, top);
  }
  virtual void Backward_fused_gpu(const vector<Blob<Dtype>*>& top,
                                  const vector<bool>& propagate_down,
                                  const vector<Blob<Dtype>*>& bottom) {
    Backward_fused(top, propagate_down, bottom);
  }

  /// Throws Error if the numbers of blobs do not fit the Exact/Min/Max functions.
  virtual void CheckBlobCounts(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  /// Writes each loss weight over its top's diff, where Backward finds it.
  void SetLossWeights(const vector<Blob<Dtype>*>& top);

 private:
  friend class LayerRegistry<Dtype>;

  void DeclareParameterTypes();
  Dtype WeightedLoss(const vector<Blob<Dtype>*>& top) const;

  LayerTypes types_;
  bool is_built_in_ = false;
  bool force_backward_ = false;

  DISABLE_COPY_AND_ASSIGN(Layer);
};

}  // namespace caffe

#endif  // CAFFE_LAYER_HPP_
