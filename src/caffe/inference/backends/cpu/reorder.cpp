// A value in another type or layout.
#include <cstring>

#include "../reorder_node.hpp"
#include "caffe/blob.hpp"
#include "caffe/error.hpp"
#include "caffe/kernels/convert.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/kernels/quantize.hpp"
#include "convolution_step.hpp"

namespace caffe {
namespace inference {
namespace cpu {
namespace {

constexpr size_t kTile = 256;  // positions that are turned over at a time: they stay in the cache

bool IsInteger(ElementType type) { return type == ElementType::INT8 || type == ElementType::UINT8; }

bool AreAlike(const Operand& a, const Operand& b) {
  return a.type == b.type &&
         (!IsInteger(a.type) || (a.scale == b.scale && a.zero_point == b.zero_point));
}

/// n elements, one after another, of the type and quantization of `from` as those of `to`.
void ConvertRun(size_t n, const Operand& from, const void* x, const Operand& to, void* y) {
  if (AreAlike(from, to)) {
    std::memcpy(y, x, n * SizeOf(from.type));
  } else if (from.type == ElementType::FLOAT && to.type == ElementType::INT8) {
    kernels::Quantize(n, 1 / to.scale, static_cast<const float*>(x), static_cast<int8_t*>(y),
                      to.zero_point);
  } else if (from.type == ElementType::FLOAT && to.type == ElementType::UINT8) {
    kernels::Quantize(n, 1 / to.scale, static_cast<const float*>(x), static_cast<uint8_t*>(y),
                      to.zero_point);
  } else if (from.type == ElementType::INT8 && to.type == ElementType::FLOAT) {
    kernels::Dequantize(n, from.scale, static_cast<const int8_t*>(x), static_cast<float*>(y),
                        from.zero_point);
  } else if (from.type == ElementType::UINT8 && to.type == ElementType::FLOAT) {
    kernels::Dequantize(n, from.scale, static_cast<const uint8_t*>(x), static_cast<float*>(y),
                        from.zero_point);
  } else if (IsInteger(from.type) || IsInteger(to.type)) {
    std::vector<float> between(n);
    Operand floats;
    ConvertRun(n, from, x, floats, between.data());
    if (IsInteger(to.type)) return ConvertRun(n, floats, between.data(), to, y);
    kernels::Convert(n, ElementType::FLOAT, between.data(), 1, 0, to.type, y, 1, 0);
  } else {
    kernels::Convert(n, from.type, x, 1, 0, to.type, y, 1, 0);
  }
}

/// (rows, columns) with `x_row` between the rows becomes (columns, block), or back.
template <typename Bits, bool to_blocks>
void Transpose(size_t rows, size_t columns, size_t block, size_t row, Bits* plain, Bits* blocks) {
  for (size_t c = 0; c < rows; ++c) {
    for (size_t s = 0; s < columns; ++s) {
      if constexpr (to_blocks) {
        blocks[s * block + c] = plain[c * row + s];
      } else {
        plain[c * row + s] = blocks[s * block + c];
      }
    }
  }
}

template <bool to_blocks>
void TransposeBytes(size_t size, size_t rows, size_t columns, size_t block, size_t row, void* plain,
                    void* blocks) {
  const auto call = [&](auto bits) {
    using Bits = decltype(bits);
    Transpose<Bits, to_blocks>(rows, columns, block, row, static_cast<Bits*>(plain),
                               static_cast<Bits*>(blocks));
  };
  size == 1 ? call(uint8_t()) : size == 2 ? call(uint16_t()) : call(uint32_t());
}

class ReorderStep : public Step {
 public:
  bool takes_strides() const override { return true; }
  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    Require(x_.shape == y_.shape, "a reorder's top has shape ", ShapeString(y_.shape),
            ", its bottom ", ShapeString(x_.shape));
  }

  void Run(void*) override {
    if (x_.blocked() == y_.blocked()) return Convert();
    const Operand& blocked = x_.blocked() ? x_ : y_;
    const size_t channels = x_.shape[1], block = blocked.block;
    const size_t blocks = (channels + block - 1) / block;
    const size_t spatial = CountOf({x_.shape.begin() + 2, x_.shape.end()});
    const size_t grain = std::max<size_t>(1, (1 << 14) / std::max<size_t>(1, block * spatial));
    kernels::ParallelFor(x_.images * blocks, grain, [&](size_t begin, size_t end) {
      std::vector<uint32_t> tile(kTile * block);
      for (size_t i = begin; i < end; ++i) {
        const size_t n = i / blocks, b = i % blocks;
        const size_t rows = std::min(block, channels - b * block);
        for (size_t s = 0; s < spatial; s += kTile) {
          Turn(n, b, rows, s, std::min(kTile, spatial - s), spatial, tile.data());
        }
      }
    });
  }

 private:
  void Convert() const {
    for (size_t n = 0; n < x_.images; ++n) {
      const char* x = x_.as<const char>() + n * x_.stride * SizeOf(x_.type);
      char* y = y_.as<char>() + n * y_.stride * SizeOf(y_.type);
      kernels::ParallelFor(x_.image, 1 << 14, [&](size_t begin, size_t end) {
        ConvertRun(end - begin, x_, x + begin * SizeOf(x_.type), y_, y + begin * SizeOf(y_.type));
      });
    }
  }

  /// Positions [s, s + columns) of `rows` channels of block b of image n, by way of `tile`.
  void Turn(size_t n, size_t b, size_t rows, size_t s, size_t columns, size_t spatial,
            void* tile) const {
    const Operand& blocked = x_.blocked() ? x_ : y_;
    const Operand& plain = x_.blocked() ? y_ : x_;
    const size_t block = blocked.block;
    char* turned = blocked.as<char>() +
                   (n * blocked.stride + (b * spatial + s) * block) * SizeOf(blocked.type);
    char* rowwise =
        plain.as<char>() + (n * plain.stride + b * block * spatial + s) * SizeOf(plain.type);
    if (x_.blocked()) {
      ConvertRun(columns * block, x_, turned, y_, tile);
      TransposeBytes<false>(SizeOf(y_.type), rows, columns, block, spatial, rowwise, tile);
      return;
    }
    if (rows < block) std::memset(tile, 0, columns * block * SizeOf(x_.type));
    TransposeBytes<true>(SizeOf(x_.type), rows, columns, block, spatial, rowwise, tile);
    ConvertRun(columns * block, x_, tile, y_, turned);
  }

  Operand x_, y_;
};

class Family : public ReorderFamily {
  std::unique_ptr<Step> MakeStep() const override { return std::make_unique<ReorderStep>(); }
};

}  // namespace

const Implementation& Reorder() {
  static const Family family;
  return family;
}

}  // namespace cpu
}  // namespace inference
}  // namespace caffe
