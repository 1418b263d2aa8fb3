// A value in another type or layout.
#include <cstring>

#include "caffe/blob.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/backends/reorder_node.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/convert.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/kernels/quantize.hpp"
#include "caffe/kernels/transpose_bytes.hpp"
#include "convolution_step.hpp"

namespace caffe::inference::cpu {
namespace {

constexpr size_t kTile = 256;  // positions transposed at a time: they stay in the cache

bool IsByte(ElementType type) { return type == ElementType::INT8 || type == ElementType::UINT8; }

bool AreAlike(const Operand& a, const Operand& b) {
  return a.type == b.type &&
         (!IsByte(a.type) || (a.scale == b.scale && a.zero_point == b.zero_point));
}

/// Converts n contiguous elements from the type and quantization of `from` to those of `to`.
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
  } else if (IsByte(from.type) || IsByte(to.type)) {
    std::vector<float> between(n);
    Operand floats;
    ConvertRun(n, from, x, floats, between.data());
    if (IsByte(to.type)) return ConvertRun(n, floats, between.data(), to, y);
    kernels::Convert(n, ElementType::FLOAT, between.data(), 1, 0, to.type, y, 1, 0);
  } else {
    kernels::Convert(n, from.type, x, 1, 0, to.type, y, 1, 0);
  }
}

/// y[column, row] = x[row, column], with so many elements between rows.
template <typename Bits>
void TransposeElements(size_t rows, size_t columns, const Bits* x, size_t x_row, Bits* y,
                       size_t y_row) {
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) y[c * y_row + r] = x[r * x_row + c];
  }
}

void Transpose(size_t size, size_t rows, size_t columns, const void* x, size_t x_row, void* y,
               size_t y_row) {
  const auto call = [&](auto bits) {
    using Bits = decltype(bits);
    TransposeElements(rows, columns, static_cast<const Bits*>(x), x_row, static_cast<Bits*>(y),
                      y_row);
  };
  if (size == 1) {
    kernels::TransposeBytes(rows, columns, static_cast<const uint8_t*>(x), x_row,
                            static_cast<uint8_t*>(y), y_row);
  } else {
    size == 2 ? call(uint16_t()) : call(uint32_t());
  }
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
    const size_t blocks = kernels::CeilDiv(channels, block);
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
    x_.blocked() ? FromBlocks(rows, columns, turned, rowwise, spatial, tile)
                 : ToBlocks(rows, columns, rowwise, spatial, turned, tile);
  }

  // The narrower type is transposed: bytes take a fraction of the time of floats.

  void FromBlocks(size_t rows, size_t columns, const char* x, char* y, size_t y_row,
                  void* tile) const {
    const size_t x_size = SizeOf(x_.type), y_size = SizeOf(y_.type);
    if (AreAlike(x_, y_)) {
      Transpose(x_size, columns, rows, x, x_.block, y, y_row);
    } else if (x_size < y_size) {
      Transpose(x_size, columns, rows, x, x_.block, tile, columns);
      for (size_t r = 0; r < rows; ++r) {
        ConvertRun(columns, x_, static_cast<char*>(tile) + r * columns * x_size, y_,
                   y + r * y_row * y_size);
      }
    } else {
      ConvertRun(columns * x_.block, x_, x, y_, tile);
      Transpose(y_size, columns, rows, tile, x_.block, y, y_row);
    }
  }

  void ToBlocks(size_t rows, size_t columns, const char* x, size_t x_row, char* y,
                void* tile) const {
    const size_t x_size = SizeOf(x_.type), y_size = SizeOf(y_.type), block = y_.block;
    if (x_size > y_size) {
      for (size_t r = 0; r < rows; ++r) {
        ConvertRun(columns, x_, x + r * x_row * x_size, y_,
                   static_cast<char*>(tile) + r * columns * y_size);
      }
      if (rows < block) std::memset(y, FillByte(), columns * block * y_size);
      Transpose(y_size, rows, columns, tile, columns, y, block);
      return;
    }
    const bool alike = AreAlike(x_, y_);
    void* turned = alike ? y : tile;
    if (rows < block) std::memset(turned, 0, columns * block * x_size);
    Transpose(x_size, rows, columns, x, x_row, turned, block);
    if (!alike) ConvertRun(columns * block, x_, tile, y_, y);
  }

  /// Padding of the last block: 0 in y's type.
  int FillByte() const { return IsByte(y_.type) ? y_.zero_point : 0; }

  Operand x_, y_;
};

class ReorderImpl : public ReorderImplBase {
  std::unique_ptr<Step> MakeStep() const override { return std::make_unique<ReorderStep>(); }
};

}  // namespace

const Implementation& Reorder() {
  static const ReorderImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
