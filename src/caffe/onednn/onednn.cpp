#include <cstdlib>
#include <cstring>
#include <string>

#include "caffe/core/thread_object.hpp"
#include "caffe/error.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "primitives.hpp"

namespace caffe::onednn {
namespace {

bool* EnabledFlag() {
  static bool enabled = [] {
    const char* value = std::getenv("CAFFE_ONEDNN");
    return !value || std::string(value) != "0";
  }();
  return &enabled;
}

dnnl::stream& CpuStream() {
  static thread_local ThreadObject<dnnl::stream> stream;
  return stream.Get([] { return new dnnl::stream(CpuEngine()); });
}

/// What WithGivenScratch asks the caller for. 0: nothing.
size_t ScratchBytes(const dnnl::primitive& primitive) {
  const auto desc =
      dnnl_primitive_desc_query_md(primitive.get_primitive_desc(), dnnl_query_scratchpad_md, 0);
  return desc ? dnnl_memory_desc_get_size(desc) : 0;
}

/// Scratch memory among the arguments of a run, which may be those of the next one, too.
class LentScratch {
 public:
  LentScratch(const memory& scratch, Arguments* arguments) : arguments_(arguments) {
    arguments->emplace(DNNL_ARG_SCRATCHPAD, scratch);
  }
  ~LentScratch() { arguments_->erase(DNNL_ARG_SCRATCHPAD); }
  LentScratch(const LentScratch&) = delete;
  LentScratch& operator=(const LentScratch&) = delete;

 private:
  Arguments* const arguments_;
};

void Execute(const dnnl::primitive& primitive, const Arguments& arguments) {
  primitive.execute(CpuStream(), arguments);
  CpuStream().wait();
}

}  // namespace

bool Enabled() { return *EnabledFlag(); }

void SetEnabled(bool enabled) { *EnabledFlag() = enabled; }

bool MultipliesBFloat16() {
  // oneDNN's sets of instructions are bits: one that has another has all of its bits.
  const int wanted = static_cast<int>(dnnl::cpu_isa::avx512_core_bf16);
  const int used = static_cast<int>(dnnl::get_effective_cpu_isa());
  return Enabled() && (used & wanted) == wanted &&
         kernels::Includes(kernels::VectorInstructionSet().needed(), kernels::CpuFeatures::AVX512);
}

const char* Version() {
  static const std::string version =
      Join(dnnl_version()->major, ".", dnnl_version()->minor, ".", dnnl_version()->patch);
  return version.c_str();
}

void Run(const dnnl::primitive& primitive, Arguments* arguments) {
  try {
    const size_t bytes = ScratchBytes(primitive);
    if (bytes == 0 || arguments->count(DNNL_ARG_SCRATCHPAD) > 0) {
      return Execute(primitive, *arguments);
    }
    const Workspace::Buffer<char> scratch(Context::Current().workspace(), bytes);
    const memory::desc desc({static_cast<memory::dim>(bytes)}, memory::data_type::u8, Tag::a);
    const LentScratch lent(Wrap(desc, scratch.get()), arguments);
    Execute(primitive, *arguments);
  } catch (const dnnl::error& error) {
    Fail(error.status == dnnl_out_of_memory ? "out of memory in oneDNN: " : "oneDNN failed: ",
         error.what());
  }
}

Dims DimsOf(std::initializer_list<int> first, const std::vector<int>& rest) {
  Dims dims(first.begin(), first.end());
  dims.insert(dims.end(), rest.begin(), rest.end());
  return dims;
}

memory::data_type DataTypeOf(ElementType type) {
  return type == ElementType::BFLOAT16 ? memory::data_type::bf16 : kFloat;
}

memory::desc Any(const Dims& dims, memory::data_type type) {
  return memory::desc(dims, type, Tag::any);
}

memory::desc Plain(const Dims& dims, memory::data_type type) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return memory::desc(dims, type, strides);
}

namespace {

Tag PickTag(size_t axes, Tag one, Tag two, Tag three) {
  return axes == 3 ? one : axes == 4 ? two : three;
}

}  // namespace

memory::desc Described(const Dims& dims, const Layout& layout, memory::data_type type) {
  switch (layout.kind) {
    case Layout::CHANNELS_LAST:
      return memory::desc(dims, type, PickTag(dims.size(), Tag::nwc, Tag::nhwc, Tag::ndhwc));
    case Layout::CHANNELS_BLOCKED:
      return memory::desc(dims, type,
                          layout.block == 8
                              ? PickTag(dims.size(), Tag::nCw8c, Tag::nChw8c, Tag::nCdhw8c)
                              : PickTag(dims.size(), Tag::nCw16c, Tag::nChw16c, Tag::nCdhw16c));
    case Layout::PLAIN:
      break;
  }
  return Plain(dims, type);
}

bool LayoutOf(const memory::desc& desc, const Dims& dims, memory::data_type type, Layout* layout) {
  size_t spatial = 1;
  for (size_t i = 2; i < dims.size(); ++i) spatial *= dims[i];
  const size_t num = dims[0], channels = dims[1];
  for (const Layout& known : {Layout(), Layout::ChannelsLast(num, channels, spatial),
                              Layout::ChannelsBlocked(8, num, channels, spatial),
                              Layout::ChannelsBlocked(16, num, channels, spatial)}) {
    if (desc != Described(dims, known, type)) continue;
    *layout = known;
    return true;
  }
  return false;
}

memory::desc DescribedFlat(size_t count, const Layout& layout) {
  if (layout.kind == Layout::PLAIN) return Plain({static_cast<memory::dim>(count)});
  return Described({static_cast<memory::dim>(layout.num), static_cast<memory::dim>(layout.channels),
                    static_cast<memory::dim>(layout.spatial)},
                   layout);
}

memory Wrap(const memory::desc& desc, const void* data) {
  return memory(desc, CpuEngine(), const_cast<void*>(data));
}

dnnl::reorder Reorder(const memory::desc& from, const memory::desc& to,
                      const dnnl::primitive_attr& attributes) {
  return dnnl::reorder(dnnl::reorder::primitive_desc(CpuEngine(), from, CpuEngine(), to,
                                                     WithGivenScratch(attributes)));
}

void AppendActivation(const kernels::Activation& f, dnnl::post_ops* operations) {
  using Kind = kernels::Activation;
  using Algorithm = dnnl::algorithm;
  const float a = static_cast<float>(f.a), b = static_cast<float>(f.b);
  switch (f.kind) {
    case Kind::NONE:
      return;
    case Kind::RELU:
      return AppendEltwise(Algorithm::eltwise_relu, a, 0, operations);
    case Kind::CLIP:
      return AppendEltwise(Algorithm::eltwise_clip, a, b, operations);
    case Kind::PRELU:
      return operations->append_prelu(1 << 1);  // a slope for each index of axis 1
    case Kind::ELU:
      if (b != 1) break;
      return AppendEltwise(Algorithm::eltwise_elu, a, 0, operations);
    case Kind::SIGMOID:
      return AppendEltwise(Algorithm::eltwise_logistic, 0, 0, operations);
    case Kind::SWISH:
      return AppendEltwise(Algorithm::eltwise_swish, a, 0, operations);
    case Kind::TANH:
      return AppendEltwise(Algorithm::eltwise_tanh, 0, 0, operations);
    default:
      break;
  }
  throw dnnl::error(dnnl_unimplemented, "no such activation");
}

}  // namespace caffe::onednn
