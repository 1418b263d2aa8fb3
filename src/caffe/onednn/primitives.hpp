#ifndef CAFFE_ONEDNN_PRIMITIVES_HPP_
#define CAFFE_ONEDNN_PRIMITIVES_HPP_

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "caffe/context.hpp"
#include "onednn.hpp"
#include "versions.hpp"

namespace caffe::onednn {

// Shared by the files of this folder.

using dnnl::memory;
using Tag = memory::format_tag;
using Dims = memory::dims;
using Arguments = std::unordered_map<int, memory>;

constexpr auto kFloat = memory::data_type::f32;

inline dnnl::prop_kind ForwardKind(bool training) {
  return training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
}

/// Runs to the end. The arguments have the scratch memory that the primitive needs, too, for the
/// time of the call, unless it is among them.
void Run(const dnnl::primitive& primitive, Arguments* arguments);
inline void Run(const dnnl::primitive& primitive, Arguments&& arguments) {
  Run(primitive, &arguments);
}
inline void Run(const dnnl::reorder& reorder, const memory& from, const memory& to) {
  Run(reorder, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

/// What `make` returns; null where oneDNN is off or has no implementation. Its errors are ours:
/// nothing that a user wrote reaches it unchecked.
template <typename Function>
auto MakeOrNull(Function&& make) -> decltype(make()) {
  if (!Enabled()) return nullptr;
  try {
    return make();
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

Dims DimsOf(std::initializer_list<int> first, const std::vector<int>& rest = {});

/// FLOAT's or BFLOAT16's.
memory::data_type DataTypeOf(ElementType type);

/// In the order that oneDNN chooses.
memory::desc Any(const Dims& dims, memory::data_type type = kFloat);
/// Row-major, the last axis fastest.
memory::desc Plain(const Dims& dims, memory::data_type type = kFloat);
/// (num, channels, up to three spatial axes) in `layout`.
memory::desc Described(const Dims& dims, const Layout& layout, memory::data_type type = kFloat);
/// The layout that `desc`, of elements of `type`, is; false if Tensor has no name for it.
bool LayoutOf(const memory::desc& desc, const Dims& dims, memory::data_type type, Layout* layout);
/// `count` elements in `layout`: (num, channels, spatial), or one axis for PLAIN.
memory::desc DescribedFlat(size_t count, const Layout& layout);

memory Wrap(const memory::desc& desc, const void* data);
dnnl::reorder Reorder(const memory::desc& from, const memory::desc& to,
                      const dnnl::primitive_attr& attributes = dnnl::primitive_attr());

/// Memory for the time of one call, shared by layers.
class Scratch {
 public:
  explicit Scratch(const memory::desc& desc)
      : buffer_(Context::Current().workspace(), desc.get_size()),
        memory_(Wrap(desc, buffer_.get())) {}
  operator const memory&() const { return memory_; }

 private:
  Workspace::Buffer<char> buffer_;
  memory memory_;
};

/// The name of an implementation ("jit:avx2") without the name of what it wraps ("conv:any+").
template <typename PrimitiveDesc>
std::string ImplementationOf(const PrimitiveDesc& desc) {
  const std::string name = desc.impl_info_str();
  const size_t inner = name.rfind('+');
  return inner == std::string::npos ? name : name.substr(inner + 1);
}

/// True for implementations that are no better than ours: by definition, or (`or_gemm`) by column
/// matrices.
template <typename PrimitiveDesc>
bool IsPlainLoop(const PrimitiveDesc& desc, bool or_gemm = true) {
  const std::string name = ImplementationOf(desc);
  // "ref:any", "ref_pooling", and LRN's "lrn_ref:any".
  return name.compare(0, 3, "ref") == 0 || name.find("_ref:") != std::string::npos ||
         (or_gemm && name.compare(0, 4, "gemm") == 0);
}

void AppendActivation(const kernels::Activation& activation, dnnl::post_ops* operations);

}  // namespace caffe::onednn

#endif  // CAFFE_ONEDNN_PRIMITIVES_HPP_
