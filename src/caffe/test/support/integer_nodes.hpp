#ifndef CAFFE_TEST_INTEGER_NODES_HPP_
#define CAFFE_TEST_INTEGER_NODES_HPP_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "caffe/inference/backends/cpu/cpu_target.hpp"
#include "caffe/inference/graph/constants.hpp"
#include "caffe/inference/graph/node_layer.hpp"
#include "caffe/inference/quantize/integer_operations.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/syncedmem.hpp"
#include "each_device.hpp"
#include "inference_test.hpp"
#include "seeded_numbers.hpp"

#ifndef CPU_ONLY
#include "caffe/inference/backends/cuda/cuda_target.hpp"
#endif

// Single integer-only nodes.
namespace caffe::inference {

/// Integers of 8 bits in Caffe's order, as numbers.
using Bytes = std::vector<int>;

inline int LeastOf(ElementType type) { return type == ElementType::UINT8 ? 0 : -128; }
inline int MostOf(ElementType type) { return type == ElementType::UINT8 ? 255 : 127; }

/// The scale and zero point for numbers in [least, most], which has 0.
inline AffineParameters AffineFor(ElementType type, double least, double most) {
  AffineParameters affine;
  affine.scale = static_cast<float>(std::max(most - least, 1e-6) / 255);
  affine.zero_point =
      std::clamp(LeastOf(type) + static_cast<int>(std::lround(-least / affine.scale)),
                 LeastOf(type), MostOf(type));
  return affine;
}

/// One node with integers in a graph, and values for it.
class IntegerNode {
 public:
  IntegerNode(const std::string& layer, const std::vector<Shape>& inputs) {
    node.layer = ParseLayer("name: 'node' " + layer);
    node.integers.emplace();
    for (size_t i = 0; i < inputs.size(); ++i) {
      node.inputs.push_back(graph.AddValue("x" + std::to_string(i), inputs[i]));
      graph.values.back().type = ElementType::UINT8;
    }
  }

  /// As the float layer shapes them, with its parameters.
  void AddOutputs(size_t tops = 1) {
    NodeLayer reference = Reference(tops);
    for (const Shape& shape : reference.Reshape(InputShapesOf())) {
      node.outputs.push_back(graph.AddValue("y" + std::to_string(node.outputs.size()), shape));
      graph.values.back().type = ElementType::UINT8;
    }
  }

  Value& input(size_t i) { return graph.values[node.inputs[i]]; }
  Value& output(size_t i = 0) { return graph.values[node.outputs[i]]; }
  void set_bytes_of_output() {
    node.integers->least = LeastOf(output().type);
    node.integers->most = MostOf(output().type);
  }

  std::vector<Shape> InputShapesOf() const {
    std::vector<Shape> shapes;
    for (const int value : node.inputs) shapes.push_back(graph.values[value].shape);
    return shapes;
  }

  /// What the float layer makes of what the integers stand for.
  std::vector<Floats> RunFloats(const std::vector<Bytes>& x) {
    NodeLayer reference = Reference(node.outputs.size());
    reference.Reshape(InputShapesOf());
    std::vector<Floats> numbers, made;
    std::vector<const float*> bottoms;
    std::vector<float*> tops;
    for (size_t i = 0; i < x.size(); ++i) {
      const AffineParameters& affine = input(i).affine;
      Floats& real = numbers.emplace_back();
      for (const int q : x[i]) real.push_back(affine.scale * (q - affine.zero_point));
    }
    for (const int value : node.outputs) made.emplace_back(CountOf(graph.values[value].shape));
    for (const Floats& real : numbers) bottoms.push_back(real.data());
    for (Floats& real : made) tops.push_back(real.data());
    reference.Run(bottoms, tops);
    return made;
  }

  /// What a family of the CPU's makes of the integers, with blobs in this layout. The node has its
  /// parameters of integers.
  std::vector<Bytes> Run(const Implementation& family, Layout::Kind layout,
                         const std::vector<Bytes>& x) {
    return RunPlaced(family, layout, x, false);
  }

#ifndef CPU_ONLY
  /// The same integers come out of a family of the GPU's, in all of its layouts.
  void ExpectOnEachDevice(const Implementation& family, const std::vector<Bytes>& x,
                          const std::vector<Bytes>& expected) {
    OnEachDevice([&] {
      const std::vector<Layout::Kind> layouts = Layouts(family);
      EXPECT_FALSE(layouts.empty());
      for (const Layout::Kind layout : layouts) {
        EXPECT_EQ(RunPlaced(family, layout, x, true), expected)
            << (layout == Layout::PLAIN ? "plain" : "channels last");
      }
    });
  }
#endif

  /// The layouts in which the family takes the node.
  std::vector<Layout::Kind> Layouts(const Implementation& family) const {
    LoweringContext context{graph, {}, {}, {ElementType::FLOAT, ElementType::INT8}};
    context.ranges.assign(graph.values.size(), Range{1, true});
    context.dependent.assign(graph.values.size(), false);
    std::vector<Layout::Kind> layouts;
    for (const Candidate& candidate : family.Candidates(context, node)) {
      if (layouts.empty() || layouts.back() != candidate.outputs[0].layout) {
        layouts.push_back(candidate.outputs[0].layout);
      }
    }
    return layouts;
  }

  Graph graph;
  Node node;
  std::vector<Constant> weights;  ///< the float layer's parameters

 private:
  /// Elements of a blob or a parameter, where a step reads and writes them.
  struct Placed {
    Placed(size_t bytes, bool device)
        : memory(std::make_shared<SyncedMemory>(std::max<size_t>(1, bytes))), on_device(device) {
      std::fill_n(host(), bytes, uint8_t{0x5a});
    }
    uint8_t* host() { return static_cast<uint8_t*>(memory->mutable_cpu_data()); }
    void* place() { return on_device ? memory->mutable_gpu_data() : memory->mutable_cpu_data(); }

    std::shared_ptr<SyncedMemory> memory;
    bool on_device;
  };

  static int BlockOf(Layout::Kind layout, bool on_device) {
#ifndef CPU_ONLY
    if (on_device && layout != Layout::PLAIN) return cuda::ChannelMultiple(ElementType::UINT8);
#endif
    static_cast<void>(on_device);
    return layout == Layout::PLAIN ? 1 : cpu::ChannelBlock();
  }

  std::vector<Bytes> RunPlaced(const Implementation& family, Layout::Kind layout,
                               const std::vector<Bytes>& x, bool on_device) {
    Graph laid_out = graph;
    for (Value& value : laid_out.values) {
      value.layout = layout;
      value.block = BlockOf(layout, on_device);
    }
    Node packed = node;
    if (on_device) packed.parameters = family.Pack(laid_out, node);
    const std::unique_ptr<Step> step = family.Make(laid_out, packed);
    Binding binding;
    std::vector<Placed> parameters, inputs, outputs;
    for (const Constant& parameter : packed.parameters) {
      const size_t bytes = parameter.count() * SizeOf(parameter.type);
      parameters.emplace_back(bytes, on_device);
      std::copy_n(static_cast<const uint8_t*>(parameter.data.get()), bytes,
                  parameters.back().host());
      binding.parameters.push_back(parameters.back().place());
    }
    const auto described = [&](int value) {
      return Described(laid_out.values[value], laid_out.values[value].shape);
    };
    for (size_t i = 0; i < x.size(); ++i) {
      Operand operand = described(node.inputs[i]);
      ASSERT_EQ_SIZE(x[i].size(), CountOf(operand.shape));
      inputs.emplace_back(operand.elements(), on_device);
      for (size_t k = 0; k < x[i].size(); ++k) {
        inputs.back().host()[PlaceOf(operand, k)] = static_cast<uint8_t>(x[i][k]);
      }
      operand.data = inputs.back().place();
      binding.inputs.push_back(operand);
    }
    for (const int value : node.outputs) {
      Operand operand = described(value);
      outputs.emplace_back(operand.elements(), on_device);
      operand.data = outputs.back().place();
      binding.outputs.push_back(operand);
    }
    step->Bind(binding);
    Placed scratch(step->scratch_bytes(), on_device);
    step->Run(scratch.place());
    std::vector<Bytes> y;
    for (size_t t = 0; t < outputs.size(); ++t) {
      const Operand& operand = binding.outputs[t];
      const uint8_t* written = outputs[t].host();
      Bytes& bytes = y.emplace_back();
      for (size_t k = 0; k < CountOf(operand.shape); ++k) {
        const uint8_t byte = written[PlaceOf(operand, k)];
        bytes.push_back(operand.type == ElementType::UINT8 ? byte : static_cast<int8_t>(byte));
      }
    }
    return y;
  }

  NodeLayer Reference(size_t tops) const {
    return NodeLayer(node.layer, weights, node.inputs.size(), tops);
  }
  static void ASSERT_EQ_SIZE(size_t a, size_t b) { ASSERT_EQ(a, b); }
  static size_t PlaceOf(const Operand& operand, size_t k) {
    if (operand.layout == Layout::PLAIN) return k;
    const size_t spatial = CountOf({operand.shape.begin() + 2, operand.shape.end()});
    const size_t channels = operand.shape[1], block = operand.block;
    const size_t n = k / spatial / channels, c = k / spatial % channels, s = k % spatial;
    if (!operand.blocked()) return (n * spatial + s) * operand.stride + c;
    const size_t blocks = kernels::CeilDiv(channels, block);
    return ((n * blocks + c / block) * spatial + s) * block + c % block;
  }
};

/// Random numbers whose seed a failure shows.
class SeededTest : public ::testing::Test, protected SeededNumbers {
 protected:
  ::testing::Message Seed() const { return ::testing::Message() << "CAFFE_TEST_SEED=" << seed_; }
  double Real(double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random_);
  }
  ElementType ByteTypeAtRandom() { return Number(0, 1) ? ElementType::UINT8 : ElementType::INT8; }
  Bytes BytesAtRandom(ElementType type, size_t count) {
    Bytes bytes(count);
    for (int& byte : bytes) byte = Number(LeastOf(type), MostOf(type));
    return bytes;
  }
};

}  // namespace caffe::inference

#endif  // CAFFE_TEST_INTEGER_NODES_HPP_
