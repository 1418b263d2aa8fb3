#ifndef CAFFE_NET_ACTIVATION_MEMORY_HPP_
#define CAFFE_NET_ACTIVATION_MEMORY_HPP_

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "caffe/core/memory_pool.hpp"
#include "caffe/tensor.hpp"

namespace caffe {

/// Which tensors of a net are freed behind which layer, and whether they are. Blobs and layers are
/// numbers here, in the net's order.
class ActivationMemory {
 public:
  enum class Sharing {
    NEVER,       ///< every blob stays
    UNTIL_SEEN,  ///< until the program may read what was freed
    ALWAYS
  };

  /// A tensor that no layer behind this one reads.
  struct Dead {
    Tensor* tensor;
    int blob;                 ///< one of those that it is the data of
    Tensor::Message message;  ///< of who reads it then; made when it is freed first
  };

  /// `last_readers`: per blob, the last layer that reads it; the number of layers for blobs that
  /// stay behind the pass.
  ActivationMemory(std::vector<int> last_readers, int layers);

  Sharing sharing() const { return sharing_; }
  void set_sharing(Sharing sharing);
  bool shares() const { return sharing_ != Sharing::NEVER; }
  /// What activations take their memory from; null before the first sharing.
  const std::shared_ptr<MemoryPool>& pool() const { return pool_; }

  bool StaysAfterPass(int blob) const { return last_readers_[blob] == layers_; }

  /// Says what is a blob's data now: several blobs may be one tensor (Split, Flatten).
  void SetTensor(int blob, Tensor* tensor);
  /// Tensors that stay whatever reads them: parameters.
  void SetKept(std::vector<const Tensor*> kept);
  /// What dies with layer number `layer`: each tensor with the last of its blobs.
  std::vector<Dead>& DeadAfter(int layer);

  /// True if there may be freed tensors.
  bool freed() const { return freed_; }
  void set_freed(bool freed) { freed_ = freed; }

  /// Parameters that the net has loaded or shares since its last pass: what that computed with them
  /// cannot be computed again.
  void AddReplaced(const Tensor* parameter) { replaced_.insert(parameter); }
  bool IsReplaced(const Tensor* parameter) const { return replaced_.count(parameter) > 0; }
  void ForgetReplaced() { replaced_.clear(); }

  /// The layer that a pass has come to; -1 while none runs. Behind it are the last pass's blobs.
  int layer() const { return layer_; }
  void set_layer(int layer) { layer_ = layer; }

  /// What the last pass read, one per input of the net; empty: not known. A program may have
  /// written the next input before it asks for a blob that was freed.
  std::vector<std::vector<char>>& inputs() { return inputs_; }
  /// Held while freed tensors are computed again: several threads may read a net.
  std::recursive_mutex& mutex() { return mutex_; }
  /// True meanwhile, for the thread that holds it.
  bool recomputes() const { return recomputes_; }
  void set_recomputes(bool recomputes) { recomputes_ = recomputes; }

  /// What a freed tensor calls when it is read, by a layer of a program's own that kept its bottom:
  /// whoever asks the net for blobs finds them computed. Void once Forget() has been called, by the
  /// net's destructor.
  void set_recompute(std::function<void()> f) { *recompute_ = std::move(f); }
  Tensor::Recompute recompute() const { return recompute_; }
  void Forget() { *recompute_ = nullptr; }
  void Recompute() const {
    if (*recompute_) (*recompute_)();
  }

 private:
  void FindDead();

  std::vector<int> last_readers_;
  int layers_;
  Sharing sharing_ = Sharing::NEVER;
  bool freed_ = false;
  std::set<const Tensor*> replaced_;
  int layer_ = -1;
  std::vector<std::vector<char>> inputs_;
  std::recursive_mutex mutex_;
  bool recomputes_ = false;
  std::shared_ptr<MemoryPool> pool_;
  std::vector<Tensor*> tensors_;  // per blob
  std::vector<const Tensor*> kept_;
  std::vector<std::vector<Dead>> dead_;  // per layer; empty: to be found
  std::shared_ptr<std::function<void()>> recompute_ = std::make_shared<std::function<void()>>();
};

}  // namespace caffe

#endif  // CAFFE_NET_ACTIVATION_MEMORY_HPP_
