#ifndef CAFFE_NVCAFFE_NET_HPP_
#define CAFFE_NVCAFFE_NET_HPP_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "caffe/layer_factory.hpp"
#include "caffe/net.hpp"
#include "caffe/nvcaffe/blob.hpp"

namespace nvcaffe {

/// Solvers of NVCaffe's tell their nets with one of these when to begin; here nothing waits.
class Flag;

/// NVCaffe's layer of any types: a handle on a caffe::Layer<float>.
class LayerBase {
 public:
  explicit LayerBase(shared_ptr<caffe::Layer<float>> layer) : layer_(std::move(layer)) {
    for (const auto& blob : layer_->blobs()) AddBlob(blob);
  }

  caffe::Layer<float>& typed() const { return *layer_; }
  const char* type() const { return layer_->type(); }
  const string& name() const { return layer_->layer_param().name(); }
  const caffe::LayerParameter& layer_param() const { return layer_->layer_param(); }
  vector<shared_ptr<Blob>>& blobs() { return blobs_; }

  void SetUp(const vector<Blob*>& bottom, const vector<Blob*>& top) {
    layer_->SetUp(Typed(bottom), Typed(top));
    blobs_.clear();
    for (const auto& blob : layer_->blobs()) AddBlob(blob);
  }
  void Reshape(const vector<Blob*>& bottom, const vector<Blob*>& top) {
    layer_->Reshape(Typed(bottom), Typed(top));
  }
  /// Returns the weighted loss.
  float Forward(const vector<Blob*>& bottom, const vector<Blob*>& top) {
    return layer_->Forward(Typed(bottom), Typed(top));
  }
  void Backward(const vector<Blob*>& top, const vector<bool>& propagate_down,
                const vector<Blob*>& bottom) {
    layer_->Backward(Typed(top), propagate_down, Typed(bottom));
  }

 private:
  static vector<caffe::Blob<float>*> Typed(const vector<Blob*>& blobs) {
    vector<caffe::Blob<float>*> typed;
    for (const Blob* blob : blobs) typed.push_back(&blob->typed());
    return typed;
  }
  void AddBlob(const shared_ptr<caffe::Blob<float>>& blob) {
    blobs_.push_back(shared_ptr<Blob>(new TBlob<float>(blob)));
  }

  shared_ptr<caffe::Layer<float>> layer_;
  vector<shared_ptr<Blob>> blobs_;
};

/// Makes layers of all types that caffe::LayerRegistry<float> knows.
class LayerRegistry {
 public:
  /// Throws Error for an unknown type.
  static shared_ptr<LayerBase> CreateLayer(const caffe::LayerParameter& param,
                                           size_t /*solver_rank*/ = 0) {
    return shared_ptr<LayerBase>(new LayerBase(caffe::LayerRegistry<float>::CreateLayer(param)));
  }
  static vector<string> LayerTypeList() { return caffe::LayerRegistry<float>::LayerTypeList(); }
};

/// NVCaffe's net, which has no type parameter: a handle on a caffe::Net<float>, whose layers have
/// the types that its NetParameter says. Where NVCaffe's Backward starts updates in the solver's
/// second thread, here the solver makes them itself: `apply_update` changes nothing.
class Net {
 public:
  /// A handle on `net`, which is not null.
  explicit Net(shared_ptr<caffe::Net<float>> net) : net_(std::move(net)) {}
  /// The parameters behind `param` are those that solvers of NVCaffe's pass to their nets. Throws
  /// Error for a net of another rank: those are made by caffe::Ranks (caffe/ranks.hpp).
  explicit Net(const caffe::NetParameter& param, size_t solver_rank = 0, Flag* = nullptr,
               const Net* root_net = nullptr, bool /*inner_net*/ = false, int level = 0,
               const vector<string>* stages = nullptr) {
    RequireAlone(solver_rank, root_net);
    caffe::NetParameter staged = param;
    if (level != 0) staged.mutable_state()->set_level(level);
    if (stages != nullptr) {
      for (const string& stage : *stages) staged.mutable_state()->add_stage(stage);
    }
    net_.reset(new caffe::Net<float>(staged));
  }
  /// The net of a prototxt file in the given phase.
  Net(const string& param_file, caffe::Phase phase, size_t solver_rank = 0, Flag* = nullptr,
      const Net* root_net = nullptr, bool /*inner_net*/ = false, int level = 0,
      const vector<string>* stages = nullptr) {
    RequireAlone(solver_rank, root_net);
    net_.reset(new caffe::Net<float>(param_file, phase, level, stages));
  }
  Net(const Net&) = delete;
  Net& operator=(const Net&) = delete;
  virtual ~Net() = default;

  caffe::Net<float>& typed() const { return *net_; }

  const vector<Blob*>& Forward(float* loss = nullptr) {
    net_->Forward(loss);
    return output_blobs();
  }
  const vector<Blob*>& Forward(const vector<Blob*>& bottom, float* loss = nullptr) {
    CHECK_EQ(bottom.size(), input_blobs().size());
    for (size_t i = 0; i < bottom.size(); ++i) input_blobs()[i]->CopyFrom(*bottom[i]);
    return Forward(loss);
  }
  const vector<Blob*>& ForwardPrefilled(float* loss = nullptr) { return Forward(loss); }
  float ForwardFromTo(int start, int end) { return net_->ForwardFromTo(start, end); }
  float ForwardFrom(int start) { return net_->ForwardFrom(start); }
  float ForwardTo(int end) { return net_->ForwardTo(end); }
  void ClearParamDiffs() { net_->ClearParamDiffs(); }
  void Backward(bool /*apply_update*/ = true) { net_->Backward(); }
  float ForwardBackward(bool /*apply_update*/ = true) { return net_->ForwardBackward(); }
  void Reshape() { net_->Reshape(); }
  void Update() { net_->Update(); }

  void ShareTrainedLayersWith(const Net* other) { net_->ShareTrainedLayersWith(other->net_.get()); }
  void CopyTrainedLayersFrom(const caffe::NetParameter& param) {
    net_->CopyTrainedLayersFrom(param);
  }
  void CopyTrainedLayersFrom(const string& file) { net_->CopyTrainedLayersFrom(file); }
  void CopyTrainedLayersFromBinaryProto(const string& file) {
    net_->CopyTrainedLayersFromBinaryProto(file);
  }
  void CopyTrainedLayersFromHDF5(const string& file) { net_->CopyTrainedLayersFromHDF5(file); }
  void ToProto(caffe::NetParameter* param, bool write_diff = false) const {
    net_->ToProto(param, write_diff);
  }
  void ToHDF5(const string& file, bool write_diff = false) const { net_->ToHDF5(file, write_diff); }

  const string& name() const { return net_->name(); }
  caffe::Phase phase() const { return net_->phase(); }
  const vector<string>& layer_names() const { return net_->layer_names(); }
  const vector<string>& blob_names() const { return net_->blob_names(); }
  bool has_blob(const string& name) const { return net_->has_blob(name); }
  bool has_layer(const string& name) const { return net_->has_layer(name); }
  int num_inputs() const { return net_->num_inputs(); }
  int num_outputs() const { return net_->num_outputs(); }
  const vector<int>& input_blob_indices() const { return net_->input_blob_indices(); }
  const vector<int>& output_blob_indices() const { return net_->output_blob_indices(); }
  const vector<bool>& layer_need_backward() const { return net_->layer_need_backward(); }
  const vector<vector<bool>>& bottom_need_backward() const { return net_->bottom_need_backward(); }
  const vector<float>& blob_loss_weights() const { return net_->blob_loss_weights(); }
  const vector<float>& params_lr() const { return net_->params_lr(); }
  const vector<float>& params_weight_decay() const { return net_->params_weight_decay(); }
  void set_debug_info(bool value) { net_->set_debug_info(value); }

  const vector<Blob*>& input_blobs() const { return Listed(net_->input_blobs(), &inputs_); }
  const vector<Blob*>& output_blobs() const { return Listed(net_->output_blobs(), &outputs_); }
  const vector<shared_ptr<Blob>>& blobs() const { return Listed(net_->blobs(), &blobs_); }
  const vector<shared_ptr<Blob>>& params() const { return Listed(net_->params(), &params_); }
  const vector<shared_ptr<Blob>>& learnable_params() const {
    return Listed(net_->learnable_params(), &learnable_params_);
  }
  const vector<vector<Blob*>>& bottom_vecs() const {
    return Nested(net_->bottom_vecs(), &bottoms_);
  }
  const vector<vector<Blob*>>& top_vecs() const { return Nested(net_->top_vecs(), &tops_); }
  /// Null, and a warning in the log, if there is none.
  const shared_ptr<Blob> blob_by_name(const string& name) const {
    const shared_ptr<caffe::Blob<float>> blob = net_->blob_by_name(name);
    return blob ? HandleOn(blob.get()) : shared_ptr<Blob>();
  }

  const vector<shared_ptr<LayerBase>>& layers() const {
    if (layers_.empty()) {
      for (const auto& layer : net_->layers()) {
        layers_.push_back(shared_ptr<LayerBase>(new LayerBase(layer)));
      }
    }
    return layers_;
  }
  /// Null, and a warning in the log, if there is none.
  const shared_ptr<LayerBase> layer_by_name(const string& name) const {
    const shared_ptr<caffe::Layer<float>> layer = net_->layer_by_name(name);
    if (!layer) return shared_ptr<LayerBase>();
    for (const shared_ptr<LayerBase>& handle : layers()) {
      if (&handle->typed() == layer.get()) return handle;
    }
    return shared_ptr<LayerBase>();
  }

 private:
  static void RequireAlone(size_t solver_rank, const Net* root_net) {
    caffe::Require(solver_rank == 0 && root_net == nullptr, "a net of rank ", solver_rank,
                   " of several is made by its solver: see Ranks in ", "caffe/ranks.hpp");
  }

  /// The one handle on a blob of the net, which it keeps alive.
  const shared_ptr<Blob>& HandleOn(caffe::Blob<float>* blob) const {
    shared_ptr<Blob>& handle = handles_[blob];
    if (!handle) {
      handle.reset(new TBlob<float>(shared_ptr<caffe::Blob<float>>(net_, blob)));
    }
    return handle;
  }
  static caffe::Blob<float>* Pointer(caffe::Blob<float>* blob) { return blob; }
  static caffe::Blob<float>* Pointer(const shared_ptr<caffe::Blob<float>>& blob) {
    return blob.get();
  }
  static void Assign(const shared_ptr<Blob>& handle, Blob** to) { *to = handle.get(); }
  static void Assign(const shared_ptr<Blob>& handle, shared_ptr<Blob>* to) { *to = handle; }

  template <typename Typed, typename Handle>
  const vector<Handle>& Listed(const vector<Typed>& blobs, vector<Handle>* handles) const {
    handles->resize(blobs.size());
    for (size_t i = 0; i < blobs.size(); ++i) Assign(HandleOn(Pointer(blobs[i])), &(*handles)[i]);
    return *handles;
  }
  const vector<vector<Blob*>>& Nested(const vector<vector<caffe::Blob<float>*>>& blobs,
                                      vector<vector<Blob*>>* handles) const {
    handles->resize(blobs.size());
    for (size_t i = 0; i < blobs.size(); ++i) Listed(blobs[i], &(*handles)[i]);
    return *handles;
  }

  shared_ptr<caffe::Net<float>> net_;
  mutable std::map<caffe::Blob<float>*, shared_ptr<Blob>> handles_;
  mutable vector<Blob*> inputs_, outputs_;
  mutable vector<shared_ptr<Blob>> blobs_, params_, learnable_params_;
  mutable vector<vector<Blob*>> bottoms_, tops_;
  mutable vector<shared_ptr<LayerBase>> layers_;
};

}  // namespace nvcaffe

#endif  // CAFFE_NVCAFFE_NET_HPP_
