// Changes of a value's type and layout on the CPU against three loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "caffe/float16.hpp"
#include "caffe/inference/backends/cpu/cpu_target.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/test/support/seeds.hpp"

namespace caffe::inference {
namespace {

constexpr uint8_t kUntouched = 0x5a;
constexpr Layout::Kind kLayouts[] = {cpu::kPlain, cpu::kBlocked, cpu::kChannelsLast};

/// What a number of 8 bits stands for is exact: scales are powers of 2.
struct Form {
  ElementType type;
  float scale = 1;
  int zero_point = 0;
};
constexpr Form kForms[] = {{ElementType::FLOAT},
                           {ElementType::FLOAT16},
                           {ElementType::BFLOAT16},
                           {ElementType::INT8, 0.25f, 0},
                           {ElementType::UINT8, 0.125f, 0},
                           {ElementType::INT8, 0.5f, -7},
                           {ElementType::UINT8, 0.25f, 128}};

/// A number as the type has it.
std::vector<uint8_t> StoredAs(const Form& form, float number) {
  std::vector<uint8_t> bytes(SizeOf(form.type));
  const auto store = [&](auto element) { std::memcpy(bytes.data(), &element, sizeof(element)); };
  if (form.type == ElementType::FLOAT) store(number);
  if (form.type == ElementType::FLOAT16) store(float16(number));
  if (form.type == ElementType::BFLOAT16) store(bfloat16(number));
  const int integer = static_cast<int>(std::nearbyint(number / form.scale)) + form.zero_point;
  if (form.type == ElementType::INT8) store(static_cast<int8_t>(std::clamp(integer, -128, 127)));
  if (form.type == ElementType::UINT8) store(static_cast<uint8_t>(std::clamp(integer, 0, 255)));
  return bytes;
}

float Number(const Form& form, const uint8_t* bytes) {
  const auto load = [&](auto element) {
    std::memcpy(&element, bytes, sizeof(element));
    return static_cast<float>(element);
  };
  switch (form.type) {
    case ElementType::FLOAT:
      return load(0.f);
    case ElementType::FLOAT16:
      return load(float16());
    case ElementType::BFLOAT16:
      return load(bfloat16());
    case ElementType::INT8:
      return form.scale * (load(int8_t()) - static_cast<float>(form.zero_point));
    default:
      return form.scale * (load(uint8_t()) - static_cast<float>(form.zero_point));
  }
}

/// A value in memory of its own, or one whose pieces lie apart.
struct Placed {
  Placed(const Shape& shape, const Form& as, Layout::Kind layout, bool strided) : form(as) {
    Value value;
    value.shape = shape;
    SetFormat(cpu::CpuTarget(), {ElementType::FLOAT, layout}, Range(), &value);
    value.type = as.type;
    value.affine = {as.scale, as.zero_point};
    operand = Described(value, shape);
    if (strided) operand.stride += 3 * operand.block;
    memory.assign(operand.images * operand.stride * SizeOf(as.type), kUntouched);
    operand.data = memory.data();
  }

  /// Where a channel of a position is; beyond the channels: padding.
  uint8_t* At(size_t n, size_t c, size_t position) {
    const size_t spatial = CountOf({operand.shape.begin() + 2, operand.shape.end()});
    const size_t block = operand.block;
    size_t at = 0;
    if (operand.plain()) at = n * operand.stride + c * spatial + position;
    if (operand.channels_last()) at = (n * spatial + position) * operand.stride + c;
    if (operand.blocked())
      at = n * operand.stride + (c / block * spatial + position) * block + c % block;
    return memory.data() + at * SizeOf(form.type);
  }
  /// Calls f(n, c, position) for all elements, with those of the padding.
  template <typename Function>
  void ForEach(Function&& f) const {
    const size_t spatial = CountOf({operand.shape.begin() + 2, operand.shape.end()});
    const size_t block = operand.block, padded = kernels::RoundUp(operand.shape[1], block);
    for (size_t n = 0; n < static_cast<size_t>(operand.shape[0]); ++n) {
      for (size_t c = 0; c < padded; ++c) {
        for (size_t p = 0; p < spatial; ++p) f(n, c, p);
      }
    }
  }
  bool IsPadding(size_t c) const { return c >= static_cast<size_t>(operand.shape[1]); }

  Form form;
  Operand operand;
  std::vector<uint8_t> memory;
};

void Reordered(const Operand& x, const Operand& y) {
  Graph graph;
  Node node;
  node.layer.set_type(kReorder);
  node.inputs = node.outputs = {0};
  const auto step = cpu::Reorder().Make(graph, node);
  step->Bind({{x}, {y}, {}, {}});
  ASSERT_TRUE(step->takes_strides());
  step->Run(nullptr);
}

class Reorders : public ::testing::Test {
 protected:
  int Extent(int most) { return 1 + static_cast<int>(random_() % most); }

  void ExpectEqual(const Shape& shape, const Form& from, const Form& to, Layout::Kind from_layout,
                   Layout::Kind to_layout) {
    Placed x(shape, from, from_layout, random_() % 2), y(shape, to, to_layout, random_() % 2);
    Placed expected = y;
    x.ForEach([&](size_t n, size_t c, size_t p) {
      const float number = static_cast<float>(static_cast<int>(random_() % 257) - 128) / 8;
      const std::vector<uint8_t> bytes = StoredAs(from, number);
      uint8_t* const at = x.At(n, c, p);
      x.IsPadding(c) ? std::fill_n(at, bytes.size(), 0) : std::copy(bytes.begin(), bytes.end(), at);
      if (expected.IsPadding(c) || x.IsPadding(c)) return;
      const std::vector<uint8_t> wanted = StoredAs(to, Number(from, at));
      std::copy(wanted.begin(), wanted.end(), expected.At(n, c, p));
    });
    expected.ForEach([&](size_t n, size_t c, size_t p) {
      if (expected.IsPadding(c)) std::fill_n(expected.At(n, c, p), SizeOf(to.type), 0);
    });
    Reordered(x.operand, y.operand);
    EXPECT_TRUE(y.memory == expected.memory)
        << "CAFFE_TEST_SEED=" << seed_ << ": " << shape[0] << "x" << shape[1] << " of "
        << shape.size() << " axes, " << Name(from.type) << " layout " << from_layout << " to "
        << Name(to.type) << " layout " << to_layout;
  }

  void ExpectAllEqual(const Shape& shape) {
    for (const Form& from : kForms) {
      for (const Form& to : kForms) {
        for (const Layout::Kind from_layout : kLayouts) {
          for (const Layout::Kind to_layout : kLayouts) {
            ExpectEqual(shape, from, to, from_layout, to_layout);
          }
        }
      }
    }
  }

  const unsigned seed_ = TestSeed();
  std::minstd_rand random_{seed_};
};

TEST_F(Reorders, AreThreeLoops) {
  for (int round = 0; round < 4; ++round) {
    ExpectAllEqual({Extent(3), Extent(40), Extent(9), Extent(9)});
    if (HasFailure()) return;
  }
}

TEST_F(Reorders, OfManyChannelsAndPositions) {
  ExpectAllEqual({1, 130 + Extent(20), 10 + Extent(10), 13});
  ExpectAllEqual({2, 64, 5, 32});
}

TEST_F(Reorders, OfOnePositionAndOfOtherNumbersOfAxes) {
  ExpectAllEqual({3, Extent(200), 1, 1});
  ExpectAllEqual({3, Extent(200)});
  ExpectAllEqual({2, Extent(30), 5, 4, 3});
}

TEST_F(Reorders, InBlocksOfEight) {
  const std::vector<kernels::InstructionSet> sets = kernels::SupportedInstructionSets();
  const auto avx2 = std::find_if(sets.begin(), sets.end(), [](const kernels::InstructionSet& set) {
    return std::string(set.name()) == "avx2";
  });
  if (avx2 == sets.end()) GTEST_SKIP() << "there are no kernels for AVX2";
  const kernels::InstructionSet before = kernels::CpuInstructionSet();
  kernels::SetCpuInstructionSet(*avx2);
  ExpectAllEqual({2, Extent(40), Extent(9), Extent(9)});
  ExpectAllEqual({1, Extent(100), 1, 1});
  kernels::SetCpuInstructionSet(before);
}

}  // namespace
}  // namespace caffe::inference
