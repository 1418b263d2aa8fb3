// The update of all parameters by one kernel.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <typeinfo>

#include "caffe/cuda/buffer.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/update.hpp"
#include "caffe/parallel/gradients_on_device.hpp"
#include "caffe/sgd_solvers.hpp"

namespace caffe {

/// The list of a net's parameters on the device, sent there again when one of them has moved.
template <typename Dtype>
class DeviceUpdate {
 public:
  /// Marks parameters, gradients and histories as written on the device. There may be a second
  /// history for each parameter, behind all first ones.
  const cuda::ParameterList<Dtype>& List(const Net<Dtype>& net,
                                         const vector<shared_ptr<Blob<Dtype>>>& history) {
    net.device_parameter_arena();
    net.device_gradient_arena();
    const vector<Blob<Dtype>*>& params = net.learnable_params();
    vector<Entry> entries;
    int64_t total = 0, blocks = 0;
    int max_blocks = 0;
    for (size_t i = 0; i < params.size(); ++i) {
      Entry entry;
      std::memset(&entry, 0, sizeof(entry));  // padding, too: lists are compared by their bytes
      const int count = params[i]->count();
      const int own_blocks = (count + List_::kBlock - 1) / List_::kBlock;
      entry.begin = static_cast<int>(total);
      entry.first_block = static_cast<int>(blocks);
      entry.count = count;
      if (count > 0) {
        entry.gradient = params[i]->mutable_gpu_diff();
        entry.data = params[i]->mutable_gpu_data();
        entry.history[0] = history[i]->mutable_gpu_data();
        if (history.size() > params.size()) {
          entry.history[1] = history[params.size() + i]->mutable_gpu_data();
        }
      }
      entry.rate_multiplier = net.params_lr()[i];
      entry.decay_multiplier = net.params_weight_decay()[i];
      entries.push_back(entry);
      total += count;
      blocks += own_blocks;
      max_blocks = std::max(max_blocks, own_blocks);
    }
    Require(total <= std::numeric_limits<int>::max(), "the net has ", total,
            " parameters, more than the 2^31 - 1 that a GPU's update can count");
    Send(entries);
    list_.size = static_cast<int>(entries.size());
    list_.total = static_cast<int>(total);
    list_.blocks = static_cast<int>(blocks);
    list_.max_blocks = max_blocks;
    return list_;
  }

 private:
  using Entry = cuda::UpdatedParameter<Dtype>;
  using List_ = cuda::ParameterList<Dtype>;

  void Send(const vector<Entry>& entries) {
    const size_t bytes = entries.size() * sizeof(Entry);
    const bool known = table_ && table_->size() == bytes &&
                       std::memcmp(table_->cpu_data(), entries.data(), bytes) == 0;
    if (!known && bytes > 0) {
      table_.reset(new SyncedMemory(bytes));
      std::memcpy(table_->overwrite_cpu_data(), entries.data(), bytes);
    }
    list_.entries = bytes > 0 ? static_cast<const Entry*>(table_->gpu_data()) : nullptr;
  }

  std::unique_ptr<SyncedMemory> table_;
  List_ list_;
};

namespace {

cuda::Regularizer RegularizerOf(const SolverParameter& param) {
  const string& type = param.regularization_type();
  if (type == "L1") return cuda::Regularizer::L1;
  return type == "WD" ? cuda::Regularizer::DECOUPLED : cuda::Regularizer::L2;
}

/// What a rule needs to know in addition to its step.
template <typename Dtype>
struct RuleNumbers {
  Dtype momentum, momentum2, rms_decay, delta, adam_correction;
};

template <typename Dtype>
using RuleFunction = void (*)(Stream&, const cuda::ParameterList<Dtype>&,
                              const cuda::UpdateStep<Dtype>&, const RuleNumbers<Dtype>&);

/// The rule of a solver that is exactly one of this library's; nullptr for any other, which may
/// have overridden what the rule is made of.
template <typename Dtype>
RuleFunction<Dtype> RuleOf(const SGDSolver<Dtype>& solver) {
  using List = cuda::ParameterList<Dtype>;
  using Step = cuda::UpdateStep<Dtype>;
  using Numbers = RuleNumbers<Dtype>;
  const std::type_info& type = typeid(solver);
  if (type == typeid(SGDSolver<Dtype>)) {
    return [](Stream& stream, const List& list, const Step& step, const Numbers& n) {
      cuda::SgdUpdate(stream, list, step, n.momentum);
    };
  }
  if (type == typeid(NesterovSolver<Dtype>)) {
    return [](Stream& stream, const List& list, const Step& step, const Numbers& n) {
      cuda::NesterovUpdate(stream, list, step, n.momentum);
    };
  }
  if (type == typeid(AdaGradSolver<Dtype>)) {
    return [](Stream& stream, const List& list, const Step& step, const Numbers& n) {
      cuda::AdaGradUpdate(stream, list, step, n.delta);
    };
  }
  if (type == typeid(RMSPropSolver<Dtype>)) {
    return [](Stream& stream, const List& list, const Step& step, const Numbers& n) {
      cuda::RmsPropUpdate(stream, list, step, n.rms_decay, n.delta);
    };
  }
  if (type == typeid(AdaDeltaSolver<Dtype>)) {
    return [](Stream& stream, const List& list, const Step& step, const Numbers& n) {
      cuda::AdaDeltaUpdate(stream, list, step, n.momentum, n.delta);
    };
  }
  if (type == typeid(AdamSolver<Dtype>)) {
    return [](Stream& stream, const List& list, const Step& step, const Numbers& n) {
      cuda::AdamUpdate(stream, list, step, n.momentum, n.momentum2, n.delta, n.adam_correction);
    };
  }
  return nullptr;
}

}  // namespace

template <typename Dtype>
bool SGDSolver<Dtype>::UpdateOnDevice(Dtype rate) {
  const RuleFunction<Dtype> rule = RuleOf(*this);
  if (Caffe::mode() != Caffe::GPU || !rule) return false;
  const SolverParameter& param = this->param_;
  Stream& stream = cuda::CurrentStream();
  cuda::UpdateStep<Dtype> step;
  step.unscale = Dtype(1) / this->gradient_scale();
  step.normalize = Dtype(1) / param.iter_size();
  step.regularizer = RegularizerOf(param);
  step.decay = GetWeightDecay();
  step.rate = rate;
  double squares = 0;
  const bool known = this->TakeGradientSquares(&squares);
  if (param.clip_gradients() >= 0) {
    GradientSums sums;
    if (!known) SumGradientsOnDevice(*this->net_, &sums);
    step.clip = ClipFactor(std::sqrt(known ? squares : sums.squares) * step.unscale);
  }
  if (!device_update_) device_update_ = std::make_shared<DeviceUpdate<Dtype>>();
  const cuda::ParameterList<Dtype>& list = device_update_->List(*this->net_, history_);
  if (list.total == 0) return true;

  const cuda::Buffer<Dtype> rates(stream, param.larc() ? list.size : 1);
  const Dtype momentum = GetMomentum();
  if (param.larc()) {
    cuda::LarcRates(
        stream, list, step,
        {param.larc_eta(), double(momentum), param.larc_policy() == "clip", param.larc_turbo()},
        cosines_.mutable_gpu_data(), rates.get());
    step.rates = rates.get();
  }
  step.subtract = !param.debug_info();  // Net::Update logs each before it subtracts
  const double beta1 = momentum, beta2 = param.momentum2();
  const int t = this->update_number();
  const double correction = std::sqrt(1 - std::pow(beta2, t)) / (1 - std::pow(beta1, t));
  rule(stream, list, step,
       {momentum, param.momentum2(), param.rms_decay(), param.delta(), Dtype(correction)});
  if (!step.subtract) this->net_->Update();
  return true;
}

template bool SGDSolver<float>::UpdateOnDevice(float);
template bool SGDSolver<double>::UpdateOnDevice(double);

}  // namespace caffe
