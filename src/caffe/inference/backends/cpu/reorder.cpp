// A value in another type or layout.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/backends/element_types.hpp"
#include "caffe/inference/backends/reorder_node.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/convert.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/kernels/quantize.hpp"
#include "caffe/kernels/transpose_bytes.hpp"
#include "copy_rows.hpp"
#include "cpu_target.hpp"

namespace caffe::inference::cpu {
namespace {

constexpr size_t kTileElements = 4096;  // turned at a time: they stay in the first cache
constexpr size_t kMaxWidth = 64;        // channels of a tile
constexpr size_t kPositionsOfBlock = 64;
constexpr size_t kReorderGrain = 1 << 14;  // elements for a thread

bool AreAlike(const Operand& a, const Operand& b) {
  return a.type == b.type &&
         (!IsByteType(a.type) || (a.scale == b.scale && a.zero_point == b.zero_point));
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
  } else if (IsByteType(from.type) || IsByteType(to.type)) {
    float between[256];
    const Operand floats;
    for (size_t i = 0; i < n; i += std::size(between)) {
      const size_t some = std::min(n - i, std::size(between));
      const char* from_here = static_cast<const char*>(x) + i * SizeOf(from.type);
      char* to_here = static_cast<char*>(y) + i * SizeOf(to.type);
      ConvertRun(some, from, from_here, floats, between);
      ConvertRun(some, floats, between, to, to_here);
    }
  } else {
    kernels::Convert(n, from.type, x, 1, 0, to.type, y, 1, 0);
  }
}

/// y[column, row] = x[row, column], with so many elements of `size` bytes between rows.
void Transpose(size_t size, size_t rows, size_t columns, const void* x, size_t x_row, void* y,
               size_t y_row) {
  const auto call = [&](auto transpose, auto bits) {
    using Bits = decltype(bits);
    transpose(rows, columns, static_cast<const Bits*>(x), x_row, static_cast<Bits*>(y), y_row);
  };
  if (size == 1) return call(kernels::TransposeBytes, uint8_t());
  size == 2 ? call(kernels::TransposeHalves, uint16_t())
            : call(kernels::TransposeWords, uint32_t());
}

/// Where an operand's elements are: those of `width` channels from channel c (a multiple of a
/// block) at a position are neighbours, except in Caffe's order.
class Places {
 public:
  explicit Places(const Operand& operand)
      : operand_(operand),
        spatial_(CountOf({operand.shape.begin() + 2, operand.shape.end()})),
        size_(SizeOf(operand.type)) {}

  char* At(size_t n, size_t c, size_t position) const {
    size_t offset = 0;
    if (operand_.plain()) {
      offset = n * operand_.stride + c * spatial_ + position;
    } else if (operand_.blocked()) {
      offset = n * operand_.stride + c * spatial_ + position * operand_.block;
    } else {
      offset = (n * spatial_ + position) * operand_.stride + c;
    }
    return operand_.as<char>() + offset * size_;
  }
  /// Elements from one position to the next.
  size_t step() const {
    return operand_.plain() ? 1 : operand_.blocked() ? operand_.block : operand_.stride;
  }
  /// Elements from one channel to the next, where the order is Caffe's.
  size_t row() const { return spatial_; }

 private:
  const Operand& operand_;
  const size_t spatial_, size_;
};

/// Channels [c, c + rows) of `columns` positions from `position` on of image n: padding makes
/// `width` of them.
struct Tile {
  size_t n, c, rows, width, position, columns;
};

class ReorderStep : public Step {
 public:
  bool takes_strides() const override { return true; }
  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    Require(x_.shape == y_.shape, "a reorder's top has shape ", ShapeString(y_.shape),
            ", its bottom ", ShapeString(x_.shape));
    Require(x_.plain() || y_.plain() || x_.block == y_.block,
            "a reorder's top and bottom differ in the padding of channels");
  }

  void Run(void*) override {
    if (CountOf(x_.shape) == 0) return;
    if (x_.layout == y_.layout) return Convert();
    ForEachTile([&](const Tile& tile, void* memory) {
      if (x_.plain()) return FromPlain(tile, memory);
      if (y_.plain()) return ToPlain(tile, memory);
      BetweenPacked(tile, memory);
    });
  }

 private:
  /// Pieces become pieces.
  void Convert() const {
    const auto convert = [&](size_t n, size_t begin, size_t end) {
      ConvertRun(end - begin, x_, x_.as<const char>() + (n * x_.stride + begin) * SizeOf(x_.type),
                 y_, y_.as<char>() + (n * y_.stride + begin) * SizeOf(y_.type));
    };
    if (x_.dense() && y_.dense()) {
      kernels::ParallelFor(x_.elements(), kReorderGrain,
                           [&](size_t begin, size_t end) { convert(0, begin, end); });
    } else {
      ForEachPart(convert);
    }
    // What stands for 0 may differ from the padding's bytes.
    if (y_.plain() || AreAlike(x_, y_) || (x_.zero_point == 0 && y_.zero_point == 0)) return;
    ForEachTile([&](const Tile& tile, void*) { Pad(tile); });
  }

  /// Calls f(piece, begin, end) for parts of all pieces.
  template <typename Function>
  void ForEachPart(Function&& f) const {
    kernels::ParallelFor(x_.images * x_.image, kReorderGrain, [&](size_t begin, size_t end) {
      while (begin < end) {
        const size_t piece = begin / x_.image, first = begin % x_.image;
        const size_t some = std::min(end - begin, x_.image - first);
        f(piece, first, first + some);
        begin += some;
      }
    });
  }

  /// Calls f(tile, memory for its elements) for all of them. Between channels last and Caffe's
  /// order tiles have many channels: whole cache lines on both sides. Between channels last and
  /// blocks those of the same positions follow each other while they are in the cache.
  template <typename Function>
  void ForEachTile(Function&& f) const {
    const Operand& packed = x_.plain() ? y_ : x_;
    const size_t channels = x_.shape[1], block = packed.block;
    const size_t padded = kernels::RoundUp(channels, block);
    const bool wide = packed.channels_last() && (x_.plain() || y_.plain());
    const bool by_position = x_.channels_last() || y_.channels_last();
    const size_t width = wide ? std::min(padded, kMaxWidth / block * block) : block;
    const size_t groups = kernels::CeilDiv(padded, width);
    const size_t spatial = Places(x_).row();
    const size_t most = by_position && !wide ? kPositionsOfBlock : kTileElements / width;
    const size_t columns = std::min(spatial, most);
    const size_t parts = kernels::CeilDiv(spatial, columns);
    const size_t tiles = x_.shape[0] * parts * groups;
    const size_t grain = std::max<size_t>(1, kReorderGrain / (columns * width));
    kernels::ParallelFor(tiles, grain, [&](size_t begin, size_t end) {
      std::vector<uint32_t> memory(columns * width);
      for (size_t i = begin; i < end; ++i) {
        const size_t n = i / (parts * groups), rest = i % (parts * groups);
        const size_t part = by_position ? rest / groups : rest % parts;
        const size_t group = by_position ? rest % groups : rest / parts;
        Tile tile;
        tile.n = n;
        tile.c = group * width;
        tile.width = std::min(width, padded - tile.c);
        tile.rows = std::min(tile.width, channels - tile.c);
        tile.position = part * columns;
        tile.columns = std::min(columns, spatial - tile.position);
        f(tile, memory.data());
      }
    });
  }

  // The narrower type is transposed: bytes take a fraction of the time of floats.

  void ToPlain(const Tile& tile, void* memory) const {
    const Places from(x_), to(y_);
    const size_t x_size = SizeOf(x_.type), y_size = SizeOf(y_.type);
    const char* x = from.At(tile.n, tile.c, tile.position);
    char* y = to.At(tile.n, tile.c, tile.position);
    if (to.row() == 1) return ConvertRun(tile.rows, x_, x, y_, y);
    char* const spare = static_cast<char*>(memory);
    if (AreAlike(x_, y_)) {
      TransposeToRows(tile, x_size, x, from.step(), y, to.row(), spare);
    } else if (x_size < y_size) {
      char* const rows = spare + tile.columns * tile.width * x_size;
      TransposeToRows(tile, x_size, x, from.step(), rows, tile.columns, spare);
      ConvertRows(tile.rows, tile.columns, rows, tile.columns, y, to.row());
    } else {
      char* const converted = spare + tile.columns * tile.width * y_size;
      ConvertRows(tile.columns, tile.width, x, from.step(), converted, tile.width);
      TransposeToRows(tile, y_size, converted, tile.width, y, to.row(), spare);
    }
  }

  /// A row for each channel of the tile. A few bytes of many positions take as long as a block of
  /// them: `spare` has room for the tile.
  static void TransposeToRows(const Tile& tile, size_t size, const char* x, size_t x_step, char* y,
                              size_t y_row, char* spare) {
    if (size == 1 && tile.rows < tile.width) {
      Transpose(size, tile.columns, tile.width, x, x_step, spare, tile.columns);
      CopyRows(tile.rows, tile.columns, spare, tile.columns, y, y_row);
    } else {
      Transpose(size, tile.columns, tile.rows, x, x_step, y, y_row);
    }
  }

  void FromPlain(const Tile& tile, void* memory) const {
    const Places from(x_), to(y_);
    const size_t x_size = SizeOf(x_.type), y_size = SizeOf(y_.type);
    const char* x = from.At(tile.n, tile.c, tile.position);
    char* y = to.At(tile.n, tile.c, tile.position);
    if (from.row() == 1) {
      ConvertRun(tile.rows, x_, x, y_, y);
    } else if (AreAlike(x_, y_)) {
      Transpose(x_size, tile.rows, tile.columns, x, from.row(), y, to.step());
    } else if (x_size > y_size) {
      ConvertRows(tile.rows, tile.columns, x, from.row(), static_cast<char*>(memory), tile.columns);
      Transpose(y_size, tile.rows, tile.columns, memory, tile.columns, y, to.step());
    } else {
      if (tile.rows < tile.width) std::memset(memory, 0, tile.columns * tile.width * x_size);
      Transpose(x_size, tile.rows, tile.columns, x, from.row(), memory, tile.width);
      ConvertRows(tile.columns, tile.width, static_cast<const char*>(memory), tile.width, y,
                  to.step());
    }
    Pad(tile);
  }

  /// Blocks of channels from or to channels last: runs are copied.
  void BetweenPacked(const Tile& tile, void* memory) const {
    const Places from(x_), to(y_);
    const size_t x_size = SizeOf(x_.type), y_size = SizeOf(y_.type);
    const char* x = from.At(tile.n, tile.c, tile.position);
    char* y = to.At(tile.n, tile.c, tile.position);
    const auto copy = [&](size_t size, const void* source, size_t step, void* target,
                          size_t target_step) {
      CopyRows(tile.columns, tile.width * size, source, step * size, target, target_step * size);
    };
    if (AreAlike(x_, y_)) {
      copy(x_size, x, from.step(), y, to.step());
    } else if (from.step() == tile.width) {
      ConvertRun(tile.columns * tile.width, x_, x, y_, memory);
      copy(y_size, memory, tile.width, y, to.step());
    } else {
      copy(x_size, x, from.step(), memory, tile.width);
      ConvertRows(tile.columns, tile.width, static_cast<const char*>(memory), tile.width, y,
                  to.step());
    }
    Pad(tile);
  }

  /// Rows of x become rows of y, with so many elements between rows.
  void ConvertRows(size_t rows, size_t columns, const char* x, size_t x_row, char* y,
                   size_t y_row) const {
    if (x_row == columns && y_row == columns) return ConvertRun(rows * columns, x_, x, y_, y);
    for (size_t r = 0; r < rows; ++r) {
      ConvertRun(columns, x_, x + r * x_row * SizeOf(x_.type), y_, y + r * y_row * SizeOf(y_.type));
    }
  }

  /// Clears the padding of y's last block.
  void Pad(const Tile& tile) const {
    if (tile.rows == tile.width) return;
    const Places to(y_);
    const size_t size = SizeOf(y_.type);
    char* y = to.At(tile.n, tile.c, tile.position) + tile.rows * size;
    for (size_t i = 0; i < tile.columns; ++i) {
      std::memset(y + i * to.step() * size, 0, (tile.width - tile.rows) * size);
    }
  }

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
