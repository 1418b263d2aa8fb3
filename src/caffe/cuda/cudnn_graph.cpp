#include "cudnn_graph.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <future>

#include "check.hpp"

#include "caffe/util/string_stream.hpp"

namespace caffe::cuda {
namespace {

constexpr int64_t kMaxConfigurations = 64;

/// What a tensor is called to cuDNN.
int64_t UniqueId(CudnnGraph::Tensor tensor) { return tensor + 1; }

/// The engine of a configuration.
CudnnDescriptor EngineOf(const CudnnDescriptor& configuration) {
  return configuration.Get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1).at(0);
}

/// "28 2=21 3=0".
std::string NameOf(const CudnnDescriptor& configuration) {
  const CudnnDescriptor engine = EngineOf(configuration);
  StringWriter name;
  name << engine.Get<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1).at(0);
  for (const CudnnDescriptor& choice :
       configuration.Get(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR,
                         CUDNN_KNOB_TYPE_COUNTS)) {
    const auto type = choice.Get<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE,
                                                         CUDNN_TYPE_KNOB_TYPE, 1);
    const auto value = choice.Get<int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1);
    name << ' ' << type.at(0) << '=' << value.at(0);
  }
  return name.str();
}

CudnnGraph::Notes NotesOf(const CudnnDescriptor& configuration) {
  const auto notes = EngineOf(configuration)
                         .Get<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                           CUDNN_TYPE_NUMERICAL_NOTE,
                                                           CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  return {notes.begin(), notes.end()};
}

/// True for engines that want weights in an order of their own.
bool WantsOwnOrder(const CudnnDescriptor& configuration) {
  const auto notes = EngineOf(configuration)
                         .Get<cudnnBackendBehaviorNote_t>(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
                                                          CUDNN_TYPE_BEHAVIOR_NOTE,
                                                          CUDNN_BEHAVIOR_NOTE_TYPE_COUNT);
  return std::any_of(notes.begin(), notes.end(), [](cudnnBackendBehaviorNote_t note) {
    return note == CUDNN_BEHAVIOR_NOTE_REQUIRES_FILTER_INT8x32_REORDER ||
           note == CUDNN_BEHAVIOR_NOTE_REQUIRES_BIAS_INT8x32_REORDER;
  });
}

/// True for functions that are one of their arguments, and would drop a NaN unless told otherwise.
bool ChoosesNumber(cudnnPointwiseMode_t mode) {
  return mode == CUDNN_POINTWISE_RELU_FWD || mode == CUDNN_POINTWISE_MIN ||
         mode == CUDNN_POINTWISE_MAX;
}

/// cuDNN 9 deprecates the choice: a version without it does as it does.
void PropagateNan(CudnnDescriptor* function) {
  try {
    function->Set(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION,
                  CUDNN_PROPAGATE_NAN);
  } catch (const Error&) {
  }
}

/// What cuDNN's heuristic proposes; none where it knows nothing.
std::vector<CudnnDescriptor> Proposals(const CudnnTarget& target, const CudnnDescriptor& graph,
                                       cudnnBackendHeurMode_t mode) {
  try {
    CudnnDescriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristic.Set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    heuristic.Set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
    if (target.properties) heuristic.Set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *target.properties);
    heuristic.Finalize("asking cuDNN's heuristic");
    return heuristic.Get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
                         kMaxConfigurations);
  } catch (const Error&) {
    return {};
  }
}

CudnnDescriptor DescribeGeometry(const CudnnGraph::Convolution& convolution) {
  CudnnDescriptor result(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  result.Set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, convolution.sums);
  result.Set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
             CUDNN_CROSS_CORRELATION);
  result.Set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64,
             static_cast<int64_t>(convolution.stride.size()));
  result.Set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, convolution.stride);
  result.Set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, convolution.pad);
  result.Set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, convolution.pad);
  result.Set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, convolution.dilation);
  result.Finalize("describing a convolution");
  return result;
}

CudnnDescriptor DescribeForward(const CudnnGraph::Convolution& convolution,
                                const CudnnDescriptor& x, const CudnnDescriptor& weights,
                                const CudnnDescriptor& y) {
  CudnnDescriptor result(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  result.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, DescribeGeometry(convolution));
  result.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
  result.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, weights);
  result.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
  result.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1.f);
  result.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 0.f);
  result.Finalize("describing a convolution");
  return result;
}

CudnnDescriptor DescribeWeightGradient(const CudnnGraph::Convolution& convolution,
                                       const CudnnDescriptor& x, const CudnnDescriptor& dy,
                                       const CudnnDescriptor& weights) {
  CudnnDescriptor result(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
  result.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, DescribeGeometry(convolution));
  result.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, x);
  result.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, dy);
  result.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, weights);
  result.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_TYPE_FLOAT, 1.f);
  result.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, CUDNN_TYPE_FLOAT, 0.f);
  result.Finalize("describing a gradient of weights");
  return result;
}

/// `b` may be null.
CudnnDescriptor DescribeFunction(const CudnnGraph::Function& function, const CudnnDescriptor& a,
                                 const CudnnDescriptor* b, const CudnnDescriptor& y) {
  CudnnDescriptor pointwise(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  pointwise.Set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, function.mode);
  pointwise.Set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  if (ChoosesNumber(function.mode)) PropagateNan(&pointwise);
  for (const auto& number : function.numbers) {
    pointwise.Set(number.first, CUDNN_TYPE_DOUBLE, number.second);
  }
  pointwise.Finalize("describing a function");
  CudnnDescriptor result(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  result.Set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise);
  result.Set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, a);
  if (b) result.Set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
  result.Set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  result.Finalize("describing a function");
  return result;
}

}  // namespace

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t descriptor = nullptr;
  CheckCudnn(CAFFE_CALL(Cudnn, cudnnBackendCreateDescriptor, type, &descriptor),
             "describing an operation");
  descriptor_ = std::shared_ptr<void>(
      descriptor, [](void* one) { CAFFE_CALL(Cudnn, cudnnBackendDestroyDescriptor, one); });
}

void CudnnDescriptor::Set(cudnnBackendAttributeName_t name,
                          const std::vector<CudnnDescriptor>& others) {
  std::vector<cudnnBackendDescriptor_t> descriptors;
  for (const CudnnDescriptor& other : others) descriptors.push_back(other.get());
  Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, descriptors);
}

std::vector<CudnnDescriptor> CudnnDescriptor::Get(cudnnBackendAttributeName_t name,
                                                  cudnnBackendDescriptorType_t type,
                                                  int64_t most) const {
  std::vector<CudnnDescriptor> results;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < most; ++i) {
    results.emplace_back(type);
    raw.push_back(results.back().get());
  }
  int64_t count = 0;
  CheckCudnn(CAFFE_CALL(Cudnn, cudnnBackendGetAttribute, get(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                        most, &count, raw.data()),
             "asking cuDNN");
  results.erase(results.begin() + std::min(count, most), results.end());
  return results;
}

void CudnnDescriptor::Finalize(const char* what) {
  CheckCudnn(CAFFE_CALL(Cudnn, cudnnBackendFinalize, get()), what);
}

CudnnTarget CudnnTarget::Described(const std::string& json) {
  CudnnTarget target;
  target.properties = std::make_shared<CudnnDescriptor>(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  target.properties->Set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                         std::vector<char>(json.begin(), json.end()));
  target.properties->Finalize("describing a GPU");
  return target;
}

namespace {

/// Handles that no thread uses, each with its GPU. Never destroyed: cuDNN may end before the
/// statics of this library.
struct IdleHandles {
  std::mutex mutex;
  std::multimap<int, cudnnHandle_t> of_device;
};
IdleHandles& Idle() {
  static auto& idle = *new IdleHandles;
  return idle;
}

}  // namespace

TargetOfThread::TargetOfThread() {
  Check(cudaGetDevice(&target_.device), "asking which GPU is in use");
  TakeHandle();
}

TargetOfThread::TargetOfThread(const CudnnTarget& like) : target_(like) {
  if (!like.handle) return;
  Check(cudaSetDevice(like.device), "choosing the GPU");
  TakeHandle();
}

void TargetOfThread::TakeHandle() {
  {
    const std::lock_guard<std::mutex> lock(Idle().mutex);
    const auto found = Idle().of_device.find(target_.device);
    if (found != Idle().of_device.end()) {
      target_.handle = found->second;
      Idle().of_device.erase(found);
      return;
    }
  }
  CheckCudnn(CAFFE_CALL(Cudnn, cudnnCreate, &target_.handle), "starting cuDNN");
}

TargetOfThread::~TargetOfThread() {
  if (!target_.handle) return;
  const std::lock_guard<std::mutex> lock(Idle().mutex);
  Idle().of_device.emplace(target_.device, target_.handle);
}

std::vector<int64_t> TwoAxes(const std::vector<int>& values, int otherwise) {
  std::vector<int64_t> result(values.begin(), values.end());
  while (result.size() < 2) result.insert(result.begin(), otherwise);
  return result;
}

CudnnPlan::CudnnPlan(const CudnnTarget& target, const CudnnDescriptor& configuration)
    : plan_(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR), name_(NameOf(configuration)) {
  if (target.handle) {
    plan_.Set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
  } else {
    plan_.Set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *target.properties);
  }
  plan_.Set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  plan_.Finalize("making a plan of cuDNN's");
  workspace_bytes_ = static_cast<size_t>(
      plan_.Get<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1).at(0));
}

void CudnnPlan::Execute(cudnnHandle_t handle, const std::map<int64_t, void*>& memory,
                        void* workspace) const {
  std::vector<int64_t> tensors;
  std::vector<void*> places;
  for (const auto& entry : memory) {
    tensors.push_back(UniqueId(entry.first));
    places.push_back(entry.second);
  }
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.Set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, tensors);
  pack.Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, places);
  pack.Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  pack.Finalize("handing memory to cuDNN");
  CheckCudnn(CAFFE_CALL(Cudnn, cudnnBackendExecute, handle, plan_.get(), pack.get()),
             "running a plan of cuDNN's");
}

CudnnGraph::Tensor CudnnGraph::Memory(cudnnDataType_t type, const std::vector<int64_t>& extents,
                                      const std::vector<int64_t>& strides) {
  tensors_.push_back({type, extents, strides});
  return static_cast<Tensor>(tensors_.size() - 1);
}

CudnnGraph::Tensor CudnnGraph::Number(size_t axes) {
  const std::vector<int64_t> ones(axes, 1);
  tensors_.push_back({CUDNN_DATA_FLOAT, ones, ones, false, true});
  return static_cast<Tensor>(tensors_.size() - 1);
}

CudnnGraph::Tensor CudnnGraph::Between(cudnnDataType_t type, Tensor like) {
  const std::vector<int64_t> extents = tensors_[like].extents, strides = tensors_[like].strides;
  tensors_.push_back({type, extents, strides, true});
  return static_cast<Tensor>(tensors_.size() - 1);
}

CudnnGraph::Tensor CudnnGraph::Convolve(Tensor x, Tensor weights, const Convolution& convolution,
                                        cudnnDataType_t type, Tensor like) {
  const Tensor y = Between(type, like);
  operations_.push_back({Kind::CONVOLUTION, x, weights, y, convolution, {}});
  return y;
}

CudnnGraph::Tensor CudnnGraph::DifferentiateWeights(Tensor x, Tensor dy,
                                                    const Convolution& convolution, Tensor like) {
  const Tensor y = Between(CUDNN_DATA_FLOAT, like);
  operations_.push_back({Kind::WEIGHT_GRADIENT, x, dy, y, convolution, {}});
  return y;
}

CudnnGraph::Tensor CudnnGraph::Apply(const Function& function, Tensor a, Tensor b) {
  const Tensor y = Between(CUDNN_DATA_FLOAT, a);
  operations_.push_back({Kind::FUNCTION, a, b, y, {}, function});
  return y;
}

void CudnnGraph::WriteTo(Tensor y) { operations_.back().y = y; }

CudnnDescriptor CudnnGraph::Describe(Tensor tensor) const {
  const TensorFacts& facts = tensors_[tensor];
  CudnnDescriptor result(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  result.Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, UniqueId(tensor));
  result.Set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, facts.type);
  result.Set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, facts.extents);
  result.Set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, facts.strides);
  result.Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kAlignment);
  result.Set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, std::vector<char>{facts.is_virtual});
  result.Set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, std::vector<char>{facts.is_number});
  result.Finalize("describing a tensor");
  return result;
}

void CudnnGraph::Finalize(const CudnnTarget& target) {
  std::vector<CudnnDescriptor> tensors, operations;
  for (size_t i = 0; i < tensors_.size(); ++i) tensors.push_back(Describe(static_cast<Tensor>(i)));
  for (const Operation& operation : operations_) {
    const CudnnDescriptor &x = tensors[operation.x], &y = tensors[operation.y];
    const CudnnDescriptor* b = operation.b == kNone ? nullptr : &tensors[operation.b];
    switch (operation.kind) {
      case Kind::CONVOLUTION:
        operations.push_back(DescribeForward(operation.convolution, x, *b, y));
        break;
      case Kind::WEIGHT_GRADIENT:
        operations.push_back(DescribeWeightGradient(operation.convolution, x, *b, y));
        break;
      case Kind::FUNCTION:
        operations.push_back(DescribeFunction(operation.function, x, b, y));
        break;
    }
  }
  graph_ = std::make_shared<CudnnDescriptor>(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph_->Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations);
  if (target.handle) {
    graph_->Set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
  }
  graph_->Finalize("describing operations");
}

std::vector<CudnnPlan> CudnnGraph::Plans(const CudnnTarget& target,
                                         const std::function<bool(const Notes&)>& rejects,
                                         size_t most_workspace, size_t most) const {
  std::vector<CudnnPlan> plans;
  std::set<std::string> tried;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    std::vector<std::string> names;
    for (const CudnnDescriptor& configuration : Proposals(target, *graph_, mode)) {
      try {
        const std::string name = NameOf(configuration);
        if (tried.insert(name).second && !WantsOwnOrder(configuration) &&
            !rejects(NotesOf(configuration))) {
          names.push_back(name);
        }
      } catch (const Error&) {  // the engine cannot do it after all
      }
    }
    for (auto next = names.begin(); next != names.end() && plans.size() < most;) {
      const auto end = next + std::min<size_t>(most - plans.size(), names.end() - next);
      for (auto& plan : PlansNamed(target, {next, end}, rejects)) {
        if (plan && plan->workspace_bytes() <= most_workspace) plans.push_back(std::move(*plan));
      }
      next = end;
    }
  }
  return plans;
}

std::vector<std::optional<CudnnPlan>> CudnnGraph::PlansNamed(
    const CudnnTarget& target, const std::vector<std::string>& names,
    const std::function<bool(const Notes&)>& rejects) const {
  std::vector<std::future<std::optional<CudnnPlan>>> made;
  for (const std::string& name : names) {
    made.push_back(std::async(std::launch::async, [&, name]() -> std::optional<CudnnPlan> {
      try {
        const TargetOfThread own(target);
        CudnnGraph graph = *this;
        graph.Finalize(own.target());
        return graph.PlanNamed(own.target(), name, rejects);
      } catch (const Error&) {
        return {};
      }
    }));
  }
  std::vector<std::optional<CudnnPlan>> plans;
  for (auto& plan : made) plans.push_back(plan.get());
  return plans;
}

CudnnPlan CudnnGraph::PlanNamed(const CudnnTarget& target, const std::string& name,
                                const std::function<bool(const Notes&)>& rejects) const {
  StringReader words(name);
  int64_t index = -1;
  Require(bool(words >> index) && index >= 0, "'", name, "' does not name an engine of cuDNN's");
  std::vector<CudnnDescriptor> choices;
  for (std::string word; words >> word;) {
    StringReader setting(word);
    int64_t knob = 0, value = 0;
    char equals = 0;
    Require((setting >> knob >> equals >> value) && equals == '=' && setting.peek() == EOF, "'",
            name, "' does not name an engine of cuDNN's");
    CudnnDescriptor choice(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    choice.Set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE,
               static_cast<cudnnBackendKnobType_t>(knob));
    choice.Set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, value);
    choice.Finalize("choosing an engine of cuDNN's");
    choices.push_back(choice);
  }
  CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine.Set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, *graph_);
  engine.Set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, index);
  if (target.properties) engine.Set(CUDNN_ATTR_ENGINE_DEVICEPROP, *target.properties);
  engine.Finalize("choosing an engine of cuDNN's");
  CudnnDescriptor configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  configuration.Set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  if (!choices.empty()) configuration.Set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, choices);
  configuration.Finalize("choosing an engine of cuDNN's");
  Require(!WantsOwnOrder(configuration) && !rejects(NotesOf(configuration)), "engine '", name,
          "' of cuDNN's computes in other numbers, or in another order, than is asked for");
  return CudnnPlan(target, configuration);
}

}  // namespace caffe::cuda
