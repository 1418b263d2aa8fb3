#ifndef CAFFE_NET_HPP_
#define CAFFE_NET_HPP_

#include <cstdint>
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

class ActivationMemory;
template <typename Dtype>
class QuantizedTraining;
struct BatchNormBlobs;
struct StoredLayer;

/// Choices for a net that no prototxt field makes.
struct NetOptions {
  bool share_activations = false;  ///< true: as after Net::set_share_activations(true)
};

/// Layers connected to a directed acyclic graph, as a NetParameter describes them.
///
/// Init builds the layers that the net's state includes, inserts Split layers where several read
/// one blob, resolves the layers' types (types.hpp), sets the layers up in the order of the file
/// and finds out which parts need a backward pass. What is wrong with a net is said by an Error
/// that names the file, the layer and the field.
///
/// A net belongs to one thread at a time. Several nets may share trained layers and run at once,
/// as long as no thread writes the parameters.
template <typename Dtype>
class Net {
 public:
  explicit Net(const NetParameter& param, const NetOptions& options = NetOptions());
  /// The net of a prototxt file, of any age, in the given phase, level and stages.
  explicit Net(const string& param_file, Phase phase, const int level = 0,
               const vector<string>* stages = nullptr, const NetOptions& options = NetOptions());
  /// Caffe's before 1.0, where a net shared the data layers of `root_net`. Here each has its own.
  Net(const NetParameter& param, const Net* /*root_net*/) : Net(param) {}
  virtual ~Net();

  void Init(const NetParameter& param);

  /// Runs all layers; `loss`, if given, gets the weighted sum of all losses. What was written
  /// through a pointer to an input blob's Dtype data, however old, is seen; pointers to the output
  /// blobs' Dtype data see the result.
  const vector<Blob<Dtype>*>& Forward(Dtype* loss = nullptr);
  /// Old name of Forward.
  const vector<Blob<Dtype>*>& ForwardPrefilled(Dtype* loss = nullptr);
  /// Runs layers start to end, both included, and returns their loss.
  Dtype ForwardFromTo(int start, int end);
  Dtype ForwardFrom(int start);
  Dtype ForwardTo(int end);
  /// Copies `bottom` to the first input blobs before that; the others stay as they are. Throws
  /// Error for more than there are.
  const vector<Blob<Dtype>*>& Forward(const vector<Blob<Dtype>*>& bottom, Dtype* loss = nullptr);

  /// Sets the gradients of all parameters to zero. Backward adds to them.
  void ClearParamDiffs();

  /// Computes the gradients of the blobs and parameters that need one. Forward must have run.
  void Backward();
  /// Runs layers start down to end, both included.
  void BackwardFromTo(int start, int end);
  void BackwardFrom(int start);
  void BackwardTo(int end);

  /// Reshapes all layers from bottom to top: input shapes reach the outputs without a Forward.
  void Reshape();

  /// Forward and Backward; returns the loss.
  Dtype ForwardBackward();
  /// Likewise, with the Forward that copies `bottom`: Caffe's before 1.0.
  Dtype ForwardBackward(const vector<Blob<Dtype>*>& bottom);

  /// Subtracts each parameter's diff from its data.
  void Update();
  /// Makes parameters of one name one tensor (again): the owner's.
  void ShareWeights();
  /// Uses the parameters of another net's layers of the same names instead of its own. Throws
  /// Error where shapes differ.
  void ShareTrainedLayersWith(const Net* other);

  /// Copies the parameters of layers of the same names; layers that are missing on either side
  /// are left alone and logged. Old 4-axis shapes fit, and the forms of batch normalization
  /// (BVLC's 3 blobs and Scale layer, NVCaffe's 5, DIGITS's order) load into each other. Throws
  /// Error where shapes or numbers of blobs differ; the layers before are then already copied.
  void CopyTrainedLayersFrom(const NetParameter& param);
  /// From a .caffemodel or an HDF5 file, told apart by content.
  void CopyTrainedLayersFrom(const string& trained_filename);
  void CopyTrainedLayersFromBinaryProto(const string& trained_filename);
  /// Throws Error in a library that was built without HDF5.
  void CopyTrainedLayersFromHDF5(const string& trained_filename);

  /// The net with its parameters as a message: layers, splits included, as set up.
  void ToProto(NetParameter* param, bool write_diff = false) const;
  /// Writes the groups data/LAYER/INDEX (and diff/LAYER/INDEX), as BVLC Caffe does. The file is
  /// written aside, synced and renamed.
  void ToHDF5(const string& filename, bool write_diff = false) const;
  /// Writes a caffemodel layer by layer, without a second copy of the parameters; the file is
  /// written aside, synced and renamed. With `raw` in NVCaffe's form, which BVLC Caffe cannot
  /// read: each parameter in its storage type, but those that are being trained in Dtype, so that
  /// nothing is lost.
  void ToBinaryProto(const string& filename, bool write_diff = false, bool raw = false) const;

  const string& name() const { return name_; }
  /// What logs and saved files call the net from here on.
  void set_name(const string& name) { name_ = name; }
  Phase phase() const { return phase_; }
  /// In the order in which they run, splits included.
  const vector<string>& layer_names() const { return layer_names_; }
  const vector<shared_ptr<Layer<Dtype>>>& layers() const { return layers_; }
  const vector<string>& blob_names() const { return blob_names_; }
  /// Whoever asks for blobs may read them from here on (set_share_activations): what the last pass
  /// has freed is computed again. A const net may be asked by several threads at once.
  const vector<shared_ptr<Blob<Dtype>>>& blobs() { return KeepBlobs(), blobs_; }
  const vector<shared_ptr<Blob<Dtype>>>& blobs() const { return FreeNothingMore(), blobs_; }

  /// Per layer: its bottoms and tops, and which bottoms get a gradient.
  const vector<vector<Blob<Dtype>*>>& bottom_vecs() { return KeepBlobs(), bottom_vecs_; }
  const vector<vector<Blob<Dtype>*>>& bottom_vecs() const {
    return FreeNothingMore(), bottom_vecs_;
  }
  const vector<vector<Blob<Dtype>*>>& top_vecs() { return KeepBlobs(), top_vecs_; }
  const vector<vector<Blob<Dtype>*>>& top_vecs() const { return FreeNothingMore(), top_vecs_; }
  const vector<vector<bool>>& bottom_need_backward() const { return bottom_need_backward_; }
  /// Indices into blobs().
  const vector<int>& top_ids(int i) const { return IdsOf(top_id_vecs_, i); }
  const vector<int>& bottom_ids(int i) const { return IdsOf(bottom_id_vecs_, i); }
  /// Per blob; 0 for what is no loss.
  const vector<Dtype>& blob_loss_weights() const { return blob_loss_weights_; }
  const vector<bool>& layer_need_backward() const { return layer_need_backward_; }

  /// All parameters of all layers, shared ones once for each layer that uses them.
  const vector<shared_ptr<Blob<Dtype>>>& params() const { return params_; }
  /// Each parameter once, with its multipliers of learning rate and weight decay.
  const vector<Blob<Dtype>*>& learnable_params() const { return learnable_params_; }
  const vector<float>& params_lr() const { return params_lr_; }
  const vector<bool>& has_params_lr() const { return has_params_lr_; }
  const vector<float>& params_weight_decay() const { return params_weight_decay_; }
  const vector<bool>& has_params_decay() const { return has_params_decay_; }
  /// Named parameters: the index into params() of the owner.
  const map<string, int>& param_names_index() const { return param_names_index_; }
  /// Per entry of params(): the index of the owner, -1 for an owner.
  const vector<int>& param_owners() const { return param_owners_; }
  const vector<string>& param_display_names() const { return param_display_names_; }

  int num_inputs() const { return static_cast<int>(net_input_blobs_.size()); }
  int num_outputs() const { return static_cast<int>(net_output_blobs_.size()); }
  /// The tops of Input layers; and the blobs that no layer reads, in alphabetical order.
  const vector<Blob<Dtype>*>& input_blobs() const { return net_input_blobs_; }
  const vector<Blob<Dtype>*>& output_blobs() const { return net_output_blobs_; }
  const vector<int>& input_blob_indices() const { return net_input_blob_indices_; }
  const vector<int>& output_blob_indices() const { return net_output_blob_indices_; }

  bool has_blob(const string& blob_name) const;
  /// A null pointer, and a warning in the log, if there is none.
  const shared_ptr<Blob<Dtype>> blob_by_name(const string& blob_name);
  const shared_ptr<Blob<Dtype>> blob_by_name(const string& blob_name) const;
  bool has_layer(const string& layer_name) const;
  const shared_ptr<Layer<Dtype>> layer_by_name(const string& layer_name) const;

  /// Logs the mean magnitude of every blob and parameter in each pass.
  void set_debug_info(const bool value) {
    if (value) KeepBlobs();
    debug_info_ = value;
  }
  /// NetParameter.global_grad_scale: what solvers multiply losses by and divide gradients by.
  float global_grad_scale() const { return global_grad_scale_; }

  /// Tells a net with quantized_training which iteration comes next: what is rounded from here on,
  /// and whether BatchNorm layers train on their running statistics. Solvers say it; without one it
  /// is iteration 0, or what trained weights were saved with. Nothing happens in other nets.
  void set_training_iteration(int iteration);

  /// Keeps the layers that the net's state includes.
  static void FilterNet(const NetParameter& param, NetParameter* param_filtered);
  /// True if the state fits all that the rule states; logs why not.
  static bool StateMeetsRule(const NetState& state, const NetStateRule& rule,
                             const string& layer_name);

  /// Called with the index of a layer about to run or just run. Not owned.
  class Callback {
   public:
    virtual ~Callback() {}

   protected:
    virtual void run(int layer) = 0;

    template <typename T>
    friend class Net;
  };
  const vector<Callback*>& before_forward() const { return before_forward_; }
  void add_before_forward(Callback* value) {
    KeepBlobs();
    before_forward_.push_back(value);
  }
  const vector<Callback*>& after_forward() const { return after_forward_; }
  void add_after_forward(Callback* value) {
    KeepBlobs();
    after_forward_.push_back(value);
  }
  const vector<Callback*>& before_backward() const { return before_backward_; }
  void add_before_backward(Callback* value) { before_backward_.push_back(value); }
  const vector<Callback*>& after_backward() const { return after_backward_; }
  void add_after_backward(Callback* value) { after_backward_.push_back(value); }

  /// Lets blobs that no later layer needs share memory: each is freed when its last reader has
  /// run. Inputs, outputs and the tops of layers whose pass cannot be repeated stay. Reading a
  /// freed blob throws Error with its name, and pointers into it are void after each forward pass.
  /// For the TEST phase only (backward reads blobs): Error in another. With false every blob stays.
  ///
  /// A net in the TEST phase that was told neither shares until the program asks for another blob
  /// than an input or output, for callbacks, a part of a pass or a backward pass: then it computes
  /// again what it had freed, from the inputs of its last pass, and frees nothing more. If it has
  /// loaded or come to share other parameters since, what depends on them throws Error when it is
  /// read, until the next pass; parameters that the program writes itself count as they are now.
  void set_share_activations(bool share);
  bool share_activations() const;

  /// One run of Dtype elements in host memory with the owned parameters (or their gradients) one
  /// after another, each beginning at a multiple of 64 bytes.
  struct Arena {
    Dtype* data = nullptr;
    size_t count = 0;        ///< elements, gaps (zeros) included
    vector<int> params;      ///< indices into learnable_params(), in the order of memory
    vector<size_t> offsets;  ///< of each, in elements
  };
  /// Where trained parameters and their gradients lie in the TRAIN phase, for fused updates and
  /// reductions; both have the same params and offsets. Before writing through `data` call
  /// mutable_cpu_data() (mutable_cpu_diff()) of each of these blobs, which marks it written. Empty
  /// when the net has none or they lie elsewhere (shared with another net).
  Arena parameter_arena() const;
  Arena gradient_arena() const;
  /// The same in the memory of the calling thread's device, where the first call moves them. `data`
  /// is a device pointer; call mutable_gpu_data() (mutable_gpu_diff()) of each of these blobs
  /// before writing through it, gpu_data() (gpu_diff()) before reading.
  Arena device_parameter_arena() const { return PlaceOnDevice(/*diffs=*/false); }
  Arena device_gradient_arena() const { return PlaceOnDevice(/*diffs=*/true); }

 protected:
  // Setting up (net_init.cpp). Names of blobs that may still be read, and where the newest blob of
  // a name is.
  struct Connections;
  void Build(const NetParameter& unfiltered);
  void AddLayers(NetParameter* param);
  void AddLayer(const LayerParameter& layer, const LayerTypes& types, Connections* connections);
  int AppendBottom(const LayerParameter& layer, int bottom_id, Connections* connections);
  void AppendTop(const LayerParameter& layer, int top_id, const LayerTypes& types,
                 Connections* connections);
  int AddBlob(const string& name);
  bool WorksInPlace(const LayerParameter& layer, int top_id, const LayerTypes& types,
                    const Blob<Dtype>& bottom) const;
  void AppendParams(const LayerParameter& layer);
  void AppendParam(const LayerParameter& layer, int param_id);
  void AppendSharedParam(const LayerParameter& layer, int param_id, int owner);
  void LogLayer(int layer_id);
  void FindBackward();
  void ForceBackward();

  // Weights (net_weights.cpp).
  void CopyLayers(const vector<StoredLayer>& sources);
  void CopyLayer(const vector<StoredLayer>& sources, const StoredLayer& source, int layer_id);
  bool CopyBatchNorm(const vector<StoredLayer>& sources, const StoredLayer& source, int layer_id);
  void CopyScaleAndBias(const vector<StoredLayer>& sources, const BatchNormBlobs& blobs,
                        int layer_id);
  Layer<Dtype>* ScaleAfter(int layer_id) const;
  void CopyHdf5Layer(const string& file, int64_t group, int layer_id);
  ElementType LoadType(int param_id) const;
  void LogLayersWithout(const set<int>& copied) const;

  // Memory of parameters (net_parameters.cpp).
  void PlaceParameters();
  bool HasMaster(int param_id) const;
  void TrimParameters();
  Arena ArenaAt(void* memory) const;
  Arena ArenaOf(const std::weak_ptr<void>& memory, bool diffs) const;
  Arena PlaceOnDevice(bool diffs) const;
  void ClearDiffsOnDevice();

  // Memory of activations (net_activations.cpp).
  void PlanActivations(bool share);
  bool MayRepeatLayers() const;
  void FindTensors();
  void PrepareTop(int blob_id);
  void ReleaseAfter(int layer_id);
  void KeepBlobs();
  void FreeNothingMore() const;
  void RestoreReleased();

  // Running (net.cpp, net_debug.cpp).
  void FindFusions();
  void FindJoinedLayers();
  bool RunJoined(int layer_id, int end, vector<bool>* done);
  bool IsWatched() const;
  bool MayRunFused(int layer_id) const;
  bool IsFusedBackward(int layer_id, int start, int end) const;
  void RunBackward(int layer_id, int start, int end, vector<bool>* left);
  void RunForward(int layer_id, int end, Dtype* loss, vector<bool>* done);
  void StampInputs();
  void RefreshBlobs();
  const vector<int>& IdsOf(const vector<vector<int>>& ids, int layer_id) const;
  void ForwardDebugInfo(const int layer_id);
  void BackwardDebugInfo(const int layer_id);
  void UpdateDebugInfo(const int param_id);
  void AllParamsDebugInfo();

  string name_;
  Phase phase_;
  vector<shared_ptr<Layer<Dtype>>> layers_;
  vector<string> layer_names_;
  map<string, int> layer_names_index_;
  vector<bool> layer_need_backward_;
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
  vector<int> param_owners_;
  vector<string> param_display_names_;
  vector<pair<int, int>> param_layer_indices_;
  map<string, int> param_names_index_;
  vector<int> net_input_blob_indices_;
  vector<int> net_output_blob_indices_;
  vector<Blob<Dtype>*> net_input_blobs_;
  vector<Blob<Dtype>*> net_output_blobs_;
  vector<shared_ptr<Blob<Dtype>>> params_;
  vector<Blob<Dtype>*> learnable_params_;
  vector<int> learnable_param_ids_;
  vector<float> params_lr_;
  vector<bool> has_params_lr_;
  vector<float> params_weight_decay_;
  vector<bool> has_params_decay_;
  size_t memory_used_;
  bool debug_info_;
  float global_grad_scale_ = 1;
  vector<Callback*> before_forward_;
  vector<Callback*> after_forward_;
  vector<Callback*> before_backward_;
  vector<Callback*> after_backward_;

  bool shares_parameters_ = false;  // with another net: their masters are not ours to drop
  std::shared_ptr<ActivationMemory> activations_;
  std::shared_ptr<QuantizedTraining<Dtype>> quantized_training_;  // null: nothing is rounded
  vector<vector<int>> fused_followers_;  // per layer: those whose work it can do as well
  vector<int> fused_into_;               // per layer: the one that can do its work, -1
  vector<vector<int>> joined_layers_;    // per layer: those that can be computed with it
  Arena arena_;                          // where parameters lie in it; `data` is not used
  std::weak_ptr<void> data_arena_;       // held by the tensors in it
  std::weak_ptr<void> diff_arena_;
  mutable std::weak_ptr<void> device_data_arena_, device_diff_arena_;

  DISABLE_COPY_AND_ASSIGN(Net);
};

}  // namespace caffe

#endif  // CAFFE_NET_HPP_
