#ifndef CAFFE_NET_HPP_
#define CAFFE_NET_HPP_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/common.hpp"
#include "caffe/layer.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

struct StoredBlob;
struct StoredLayer;

/// Choices for a net that no prototxt field makes.
struct NetOptions {
  /// TEST phase only: the memory of a blob that no later layer needs is given back while the
  /// forward pass goes on, so that activations take what lives at once, not the sum. Outputs stay;
  /// reading another blob after the pass throws Error.
  bool share_activations = false;
};

/// Layers connected by blobs into a directed acyclic graph, as a NetParameter describes it.
///
/// What is wrong with a net or its weights is an Error that names file, layer and field.
template <typename Dtype>
class Net {
 public:
  explicit Net(const NetParameter& param, const NetOptions& options = NetOptions());
  /// The net in a prototxt file of any age; `phase`, `level` and `stages` decide on layers with
  /// include and exclude rules.
  explicit Net(const string& param_file, Phase phase, const int level = 0,
               const vector<string>* stages = NULL, const NetOptions& options = NetOptions());
  virtual ~Net() {}

  void Init(const NetParameter& param);

  /// Computes all layers; returns the outputs, and in `loss` the weighted sum of the losses.
  const vector<Blob<Dtype>*>& Forward(Dtype* loss = NULL);
  const vector<Blob<Dtype>*>& ForwardPrefilled(Dtype* loss = NULL) {
    LOG_EVERY_N(WARNING, 1000) << "DEPRECATED: ForwardPrefilled() will be removed in a future "
                                  "version. Use Forward().";
    return Forward(loss);
  }
  /// Computes layers start to end, both included; returns their loss.
  Dtype ForwardFromTo(int start, int end);
  Dtype ForwardFrom(int start) { return ForwardFromTo(start, layers_.size() - 1); }
  Dtype ForwardTo(int end) { return ForwardFromTo(0, end); }
  /// Copies `bottom` to the inputs first.
  const vector<Blob<Dtype>*>& Forward(const vector<Blob<Dtype>*>& bottom, Dtype* loss = NULL);

  void ClearParamDiffs();
  /// Computes gradients; parameters' are added to their diffs.
  void Backward();
  void BackwardFromTo(int start, int end);
  void BackwardFrom(int start) { BackwardFromTo(start, 0); }
  void BackwardTo(int end) { BackwardFromTo(layers_.size() - 1, end); }
  Dtype ForwardBackward() {
    Dtype loss;
    Forward(&loss);
    Backward();
    return loss;
  }

  /// Gives all blobs their shapes for the inputs as they are now. Forward does so by itself.
  void Reshape();
  /// parameter -= its diff, for all.
  void Update();
  /// Lets the parameters that share a name share data and gradient.
  void ShareWeights();

  /// Uses the parameters of another net's layers of the same names.
  void ShareTrainedLayersWith(const Net* other);
  /// Copies weights to the layers of the same names; others are left alone. Files: .h5 is HDF5,
  /// anything else a caffemodel of any age. Blobs have to have the shapes of this net's.
  void CopyTrainedLayersFrom(const NetParameter& param);
  void CopyTrainedLayersFrom(const string& trained_filename);
  void CopyTrainedLayersFromBinaryProto(const string& trained_filename);
  void CopyTrainedLayersFromHDF5(const string& trained_filename);
  /// The net's layers with their blobs, in the form BVLC Caffe reads.
  void ToProto(NetParameter* param, bool write_diff = false) const;
  void ToHDF5(const string& filename, bool write_diff = false) const;
  /// Writes a caffemodel layer by layer, aside, and puts it in place when it is complete. `raw`:
  /// NVCaffe's form, each blob in its storage type.
  void ToBinaryProto(const string& filename, bool write_diff = false, bool raw = false) const;

  const string& name() const { return name_; }
  const vector<string>& layer_names() const { return layer_names_; }
  const vector<string>& blob_names() const { return blob_names_; }
  const vector<shared_ptr<Blob<Dtype>>>& blobs() const { return blobs_; }
  const vector<shared_ptr<Layer<Dtype>>>& layers() const { return layers_; }
  Phase phase() const { return phase_; }
  const vector<vector<Blob<Dtype>*>>& bottom_vecs() const { return bottom_vecs_; }
  const vector<vector<Blob<Dtype>*>>& top_vecs() const { return top_vecs_; }
  const vector<int>& top_ids(int i) const { return top_id_vecs_.at(i); }
  const vector<int>& bottom_ids(int i) const { return bottom_id_vecs_.at(i); }
  const vector<vector<bool>>& bottom_need_backward() const { return bottom_need_backward_; }
  const vector<Dtype>& blob_loss_weights() const { return blob_loss_weights_; }
  const vector<bool>& layer_need_backward() const { return layer_need_backward_; }
  const vector<shared_ptr<Blob<Dtype>>>& params() const { return params_; }
  const vector<Blob<Dtype>*>& learnable_params() const { return learnable_params_; }
  const vector<float>& params_lr() const { return params_lr_; }
  const vector<bool>& has_params_lr() const { return has_params_lr_; }
  const vector<float>& params_weight_decay() const { return params_weight_decay_; }
  const vector<bool>& has_params_decay() const { return has_params_decay_; }
  const map<string, int>& param_names_index() const { return param_names_index_; }
  const vector<int>& param_owners() const { return param_owners_; }
  const vector<string>& param_display_names() const { return param_display_names_; }

  int num_inputs() const { return net_input_blobs_.size(); }
  int num_outputs() const { return net_output_blobs_.size(); }
  const vector<Blob<Dtype>*>& input_blobs() const { return net_input_blobs_; }
  const vector<Blob<Dtype>*>& output_blobs() const { return net_output_blobs_; }
  const vector<int>& input_blob_indices() const { return net_input_blob_indices_; }
  const vector<int>& output_blob_indices() const { return net_output_blob_indices_; }
  bool has_blob(const string& blob_name) const;
  /// Null, with a warning, if there is no such blob (layer).
  const shared_ptr<Blob<Dtype>> blob_by_name(const string& blob_name) const;
  bool has_layer(const string& layer_name) const;
  const shared_ptr<Layer<Dtype>> layer_by_name(const string& layer_name) const;

  void set_debug_info(const bool value) { debug_info_ = value; }
  /// NetParameter.global_grad_scale: what solvers multiply losses by and divide gradients by.
  float global_grad_scale() const { return global_grad_scale_; }

  /// Copies `param` without the layers that its state excludes.
  static void FilterNet(const NetParameter& param, NetParameter* param_filtered);
  static bool StateMeetsRule(const NetState& state, const NetStateRule& rule,
                             const string& layer_name);

  /// Called with the layer's number before and after it computes.
  class Callback {
   public:
    virtual ~Callback() {}

   protected:
    virtual void run(int layer) = 0;
    template <typename T>
    friend class Net;
  };
  const vector<Callback*>& before_forward() const { return before_forward_; }
  void add_before_forward(Callback* value) { before_forward_.push_back(value); }
  const vector<Callback*>& after_forward() const { return after_forward_; }
  void add_after_forward(Callback* value) { after_forward_.push_back(value); }
  const vector<Callback*>& before_backward() const { return before_backward_; }
  void add_before_backward(Callback* value) { before_backward_.push_back(value); }
  const vector<Callback*>& after_backward() const { return after_backward_; }
  void add_after_backward(Callback* value) { after_backward_.push_back(value); }

 protected:
  // Construction (net_init.cpp).
  void AppendLayer(const NetParameter& param, int layer_id, std::set<string>* available,
                   map<string, int>* blob_name_to_idx);
  void AppendTop(const LayerParameter& param, const int layer_id, const int top_id,
                 std::set<string>* available, map<string, int>* blob_name_to_idx);
  int AppendBottom(const LayerParameter& param, const int layer_id, const int bottom_id,
                   std::set<string>* available, map<string, int>* blob_name_to_idx);
  void AppendParam(const LayerParameter& param, const int layer_id, const int param_id);
  void AppendSharedParam(const LayerParameter& param, const ParamSpec& spec, int layer_id,
                         int param_id, int owner);
  void SetUpLayer(int layer_id);
  void PruneBackward(bool force_backward);
  void PlaceParametersInArenas();
  void SettleParameters();

  void ForwardDebugInfo(const int layer_id);
  void BackwardDebugInfo(const int layer_id);
  void UpdateDebugInfo(const int param_id);

  /// Copies the blobs of a stored layer into the layer of its name (net_weights.cpp).
  void CopyStoredLayers(const vector<StoredLayer>& layers);
  void CopyStoredLayer(const StoredLayer& source, const StoredLayer* next, int target);
  void CopyStoredBlob(const StoredBlob& source, Blob<Dtype>* target);

  void TakeInputsAsWritten();
  void ReleaseDeadBlobs(int layer_id);

  string name_;
  string file_;  // where the net came from, for messages; may be empty
  NetOptions options_;
  Phase phase_;
  vector<shared_ptr<Layer<Dtype>>> layers_;
  vector<string> layer_names_;
  map<string, int> layer_names_index_;
  vector<bool> layer_need_backward_;
  vector<LayerTypes> layer_types_;

  vector<shared_ptr<Blob<Dtype>>> blobs_;
  vector<string> blob_names_;
  map<string, int> blob_names_index_;
  vector<bool> blob_need_backward_;
  vector<vector<Blob<Dtype>*>> bottom_vecs_;
  vector<vector<int>> bottom_id_vecs_;
  vector<vector<bool>> bottom_need_backward_;
  vector<vector<Blob<Dtype>*>> top_vecs_;
  vector<vector<int>> top_id_vecs_;
  vector<Dtype> blob_loss_weights_;

  vector<vector<int>> param_id_vecs_;
  vector<int> param_owners_;  // the parameter that this one shares, -1 if it is its own
  vector<string> param_display_names_;
  vector<pair<int, int>> param_layer_indices_;  // layer, number within the layer
  map<string, int> param_names_index_;
  vector<shared_ptr<Blob<Dtype>>> params_;
  vector<Blob<Dtype>*> learnable_params_;
  vector<int> learnable_param_ids_;  // of each parameter
  vector<float> params_lr_;
  vector<bool> has_params_lr_;
  vector<float> params_weight_decay_;
  vector<bool> has_params_decay_;

  vector<int> net_input_blob_indices_;
  vector<int> net_output_blob_indices_;
  vector<Blob<Dtype>*> net_input_blobs_;
  vector<Blob<Dtype>*> net_output_blobs_;

  vector<int> last_use_;  // of each blob: the last layer that touches it
  size_t memory_used_ = 0;
  bool debug_info_ = false;
  float global_grad_scale_ = 1;

  vector<Callback*> before_forward_, after_forward_, before_backward_, after_backward_;

  DISABLE_COPY_AND_ASSIGN(Net);
};

}  // namespace caffe

#endif  // CAFFE_NET_HPP_
