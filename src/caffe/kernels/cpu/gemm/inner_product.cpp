#include "caffe/kernels/inner_product.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <type_traits>

#include "caffe/error.hpp"
#include "caffe/kernels/cpu/int8/int8_rescaling.hpp"
#include "caffe/kernels/cpu/int8/int8_tiles.hpp"
#include "caffe/kernels/cpu/simd/amx_layout.hpp"
#include "caffe/kernels/cpu/simd/tile_pairs.hpp"
#include "caffe/kernels/cpu/simd/tile_runs.hpp"
#include "packed_tiles.hpp"

namespace caffe::kernels {
namespace {

// Rows of x that are multiplied at a time: with more, the weights are read again. With more than
// kMaxStreamed rows, the weights are widened in parts that stay in the L1 cache, with all rows of x
// in the L2 cache, which kGroup panels share.
constexpr int kRows = 64;
constexpr size_t kWeights = 6 << 10;
constexpr size_t kGroup = 4;
constexpr size_t kTileRowBytes = 512;  // of inputs multiplied in AMX's tiles at a time
constexpr size_t kGrain = 1 << 16;     // products below which work stays on one thread
constexpr int kMaxTerms = 66000;       // times 255 times 127 is below 2^31
constexpr size_t kMinStep = 4;         // inputs

/// Floats: what PackedTiles compute with.
struct FloatArithmetic {
  static constexpr bool kIntegers = false;
  using Input = float;
  using Weight = float;
  using Sum = float;
  using Tiles = PackedTiles;
  using Work = PackedTiles::Work;
  const Tiles& tiles;
  Stored x, weights;
  const float* bias;  // padded
  const void* residual;
  Activation activation;
  void* y;
  Storage storage;
  ElementType math;

  size_t output_size() const { return storage == STORED_FLOAT ? 4 : 2; }
  size_t residual_size() const { return output_size(); }
  const void* WeightsAt(size_t offset) const { return weights.at(offset); }
  const Input* InputInPlace() const {
    return x.storage == STORED_FLOAT ? static_cast<const float*>(x.data) : nullptr;
  }
  void WidenInput(size_t offset, size_t n, Input* to) const {
    tiles.widen[x.storage](n, 1, x.at(offset), to);
  }
  const Input* Widen(const void* from, size_t n, Input* to) const {
    if (weights.storage == STORED_FLOAT) return static_cast<const float*>(from);
    tiles.widen[weights.storage](n, 1, from, to);
    return to;
  }
  size_t step() const { return tiles.block; }
  PackedTiles::Function* const* blocked(int vectors) const { return tiles.blocked[vectors - 1]; }
  PackedTiles::Function* const* streamed(int vectors) const {
    return tiles.streamed[weights.storage][vectors - 1];
  }
  void StartSums(int width, size_t rows, const Work& work) const {
    for (size_t row = 0; row < rows; ++row)
      std::copy_n(work.bias, width, work.partial + row * width);
  }
  /// Writes the outputs from `start` on to y, and adds the residual.
  void SetTarget(size_t start, const void* from, void* to, Work* work) const {
    work->bias = bias + start;
    work->activation = &activation;
    if (activation.slopes) work->slopes = activation.slopes + start;
    work->residual = from;
    work->y = to;
    work->storage = storage;
  }
};

/// Integers: what Int8Tiles compute with. X: int16_t, multiplied in pairs, or, with VNNI, uint8_t,
/// multiplied four at a time, where signed inputs are increased by 128.
template <typename X>
struct Int8Arithmetic {
  static constexpr bool kIntegers = true;
  static constexpr bool kBytes = sizeof(X) == 1;
  /// Inputs whose weights are adjacent.
  static constexpr size_t kTogether = kBytes ? 4 : 2;
  using Input = X;
  using Weight = std::conditional_t<kBytes, int8_t, int16_t>;
  using Sum = int32_t;
  using Tiles = Int8Tiles;
  using Work = Int8Tiles::Products<X, Weight>;
  const Tiles& tiles;
  const void* x;
  bool is_signed;
  const int8_t* weights;
  Int8Tiles::TilePostOps writing;  // of all outputs, with bias and scale padded
  const int32_t* starts;           // for sums of signed bytes, padded; or null

  const void* residual = writing.residual.data;
  void* y = writing.y;

  size_t output_size() const { return SizeOf(writing.type); }
  size_t residual_size() const { return SizeOf(writing.residual.type); }
  const void* WeightsAt(size_t offset) const { return weights + offset; }
  const Input* InputInPlace() const {
    return kBytes && !is_signed ? static_cast<const Input*>(x) : nullptr;
  }
  void WidenInput(size_t offset, size_t n, Input* to) const {
    const int8_t* from = static_cast<const int8_t*>(x) + offset;
    if constexpr (kBytes) {
      if (is_signed) {
        tiles.shift_signed(n, from, to);
      } else {
        std::memcpy(to, from, n);
      }
    } else if (is_signed) {
      tiles.widen_signed(n, from, to);
    } else {
      tiles.widen_unsigned(n, reinterpret_cast<const uint8_t*>(from), to);
    }
  }
  const Weight* Widen(const void* from, size_t n, Weight* to) const {
    if constexpr (kBytes) {
      return static_cast<const Weight*>(from);
    } else {
      tiles.widen_signed(n, static_cast<const int8_t*>(from), to);
      return to;
    }
  }
  /// Inputs of a step of `blocked`.
  size_t step() const { return kBytes ? kTogether : tiles.block; }
  auto blocked(int vectors) const {
    if constexpr (kBytes) {
      return tiles.bytes[vectors - 1];
    } else {
      return tiles.blocked[vectors - 1];
    }
  }
  auto streamed(int vectors) const {
    if constexpr (kBytes) {
      return tiles.byte_streamed[vectors - 1];
    } else {
      return tiles.streamed[vectors - 1];
    }
  }
  void StartSums(int width, size_t rows, const Work& work) const {
    std::fill_n(work.partial, width * rows, 0);
  }
  void SetTarget(size_t start, const void* from, void* to, Work* work,
                 Int8Tiles::TilePostOps* target) const {
    *target = writing;
    if (writing.rescaled.rows) {
      target->rescaled.rows += start * Int8Tiles::RESCALING_ROWS;
    } else {
      target->scale += start;
      target->bias += start;
    }
    if (target->activation.slopes) target->activation.slopes += start;
    target->residual.data = from;
    target->y = to;
    work->writing = target;
    work->start = starts ? starts + start : nullptr;
  }
};

using PairArithmetic = Int8Arithmetic<int16_t>;
using ByteArithmetic = Int8Arithmetic<uint8_t>;

#include "amx_inner_product.inc"

/// An inner product with one kind of arithmetic.
template <typename A>
class Product {
 public:
  using Input = typename A::Input;
  using Weight = typename A::Weight;
  using Sum = typename A::Sum;

  Product(const InnerProductPanels& panels, const typename A::Tiles& tiles, const AmxTiles* amx)
      : p_(panels), tiles_(tiles), amx_(amx) {}

  size_t ScratchBytes(int num) const {
    Pieces pieces;
    const int rows = std::min(std::max(1, num), kRows);
    pieces.Take<Input>(size_t(rows) * pitch());
    pieces.Take<char>(TileRowsBytes(rows));
    return pieces.bytes() + Threads() * OwnBytes(rows);
  }

  void Run(const A& a, int num, void* scratch) const {
    for (int first = 0; first < num; first += kRows) {
      RunRows(a, first, std::min(kRows, num - first), scratch);
    }
  }

 private:
  /// Scratch memory of one thread.
  struct Own {
    Own(const Product& self, int rows, Pieces* pieces)
        : steps(pieces->Take<int32_t>(self.p_.depth() / kMinStep)),
          windows(pieces->Take<int32_t>(rows)),
          targets(pieces->Take<size_t>(rows)),
          border_targets(pieces->Take<size_t>(rows)),
          weights(pieces->Take<Weight>(self.ChunkSteps() * self.tiles_.block * self.widest())),
          tile_weights(pieces->Take<char>(self.amx_ ? self.TileWeightsBytes() : 0)),
          partial(pieces->Take<Sum>(PixelTiles(rows).padded() * self.widest() * kGroup)),
          border(pieces->Take<float>(size_t(rows) * self.widest())),
          border_residual(pieces->Take<float>(size_t(rows) * self.widest())) {}
    int32_t *steps, *windows;
    size_t *targets, *border_targets;
    Weight* weights;
    char* tile_weights;
    Sum* partial;
    float *border, *border_residual;
  };
  size_t OwnBytes(int rows) const { return BytesOfPieces<Own>(*this, rows) + kBetweenThreads; }
  /// Outputs of a whole panel.
  size_t widest() const { return size_t(tiles_.vectors) * tiles_.block; }
  /// Elements from one row of the widened x to the next; rows whole pages apart would map to the
  /// same cache sets.
  size_t pitch() const {
    return p_.depth() + (p_.depth() * sizeof(Input) % 4096 == 0 ? 64 / sizeof(Input) : 0);
  }
  /// Steps, of one block of inputs each, in a part of the weights.
  size_t ChunkSteps() const {
    const size_t steps = p_.depth() / tiles_.block;
    const size_t most = std::max<size_t>(1, kWeights / (widest() * tiles_.block));
    if (amx_) return kTileRowBytes / TileRows<A>::kElement / tiles_.block;
    return CeilDiv(steps, CeilDiv(steps, most));
  }
  /// Bytes of x in the order of tiles.
  size_t TileRowsBytes(int rows) const { return amx_ ? TileRows<A>(p_, rows).bytes() : 0; }
  /// Bytes of weights in the order of tiles.
  size_t TileWeightsBytes() const {
    return ChunkSteps() * tiles_.block * widest() * TileRows<A>::kElement * TileRows<A>::kParts;
  }

  /// x with its rows padded with zeros to whole blocks.
  const Input* WidenedInput(const A& a, int first, int rows, void* scratch, size_t* pitch) const {
    const size_t inputs = p_.inputs(), depth = p_.depth();
    *pitch = inputs;
    if (a.InputInPlace() && inputs == depth) return a.InputInPlace() + first * inputs;
    *pitch = this->pitch();
    Input* x = static_cast<Input*>(scratch);
    ParallelFor(rows, std::max<size_t>(1, kGrain / depth), [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        a.WidenInput((first + row) * inputs, inputs, x + row * *pitch);
        std::fill_n(x + row * *pitch + inputs, depth - inputs, Input(0));
      }
    });
    return x;
  }

  void RunRows(const A& a, int first, int rows, void* scratch) const {
    size_t pitch;
    const Input* x = WidenedInput(a, first, rows, scratch, &pitch);
    Pieces shared(scratch);
    shared.Take<Input>(size_t(rows) * this->pitch());
    TileRows<A> tile_rows(p_, rows);
    void* tile_memory = shared.Take<char>(TileRowsBytes(rows));
    if (amx_ && !IsStreamed(a, rows)) tile_rows.Fill(*amx_, a, first, x, pitch, tile_memory);
    char* own_memory = static_cast<char*>(scratch) + shared.bytes();
    const size_t bytes = OwnBytes(rows);
    const size_t products = size_t(rows) * p_.depth() * widest();
    ParallelParts(p_.panels(), std::max<size_t>(1, kGrain / products),
                  [&](size_t part, size_t begin, size_t end) {
                    Pieces pieces(own_memory + part * bytes);
                    const Own own(*this, rows, &pieces);
                    for (int r = 0; r < rows; ++r) {
                      own.windows[r] = static_cast<int32_t>(r * pitch);
                      own.targets[r] = size_t(r) * p_.outputs();
                      own.border_targets[r] = r * widest();
                    }
                    for (size_t s = 0; s < p_.depth() / a.step(); ++s) {
                      own.steps[s] = static_cast<int32_t>(s * a.step());
                    }
                    for (; begin < end; begin += kGroup) {
                      RunGroup(a, first, rows, x, tile_rows, begin, std::min(end, begin + kGroup),
                               own);
                    }
                  });
  }

  bool IsStreamed(const A& a, int rows) const {
    return rows <= kMaxStreamed && a.streamed(1)[rows - 1];
  }

  void RunGroup(const A& a, int first, int rows, const Input* x, const TileRows<A>& tile_rows,
                size_t begin, size_t end, const Own& own) const {
    const bool streamed = IsStreamed(a, rows);
    const size_t steps = p_.depth() / tiles_.block, most = streamed ? steps : ChunkSteps();
    for (size_t step = 0; step < steps; step += most) {
      for (size_t panel = begin; panel < end; ++panel) {
        typename A::Work work = {};
        work.x = x + step * tiles_.block;
        work.steps = own.steps;
        work.steps_count = static_cast<int>(std::min(most, steps - step));
        work.windows = own.windows;
        work.partial = own.partial + (panel - begin) * PixelTiles(rows).padded() * widest();
        work.first = step == 0;
        work.last = step + most >= steps;
        RunPanel(a, first, rows, tile_rows, panel, step, own, &work);
      }
    }
  }

  void RunPanel(const A& a, int first, int rows, const TileRows<A>& tile_rows, size_t panel,
                size_t step, const Own& own, typename A::Work* work) const {
    const int vectors = p_.vectors(panel);
    const size_t start = p_.start(panel), width = size_t(vectors) * tiles_.block;
    const size_t outputs = std::min<size_t>(width, p_.outputs() - start);
    const bool whole = outputs == width;  // else y is written to `border` first
    const size_t offset = size_t(first) * p_.outputs() + start;
    char* y = static_cast<char*>(a.y) + offset * a.output_size();
    const char* residual = static_cast<const char*>(a.residual);
    if (residual) residual += offset * a.residual_size();
    if (!whole && residual && work->last) {
      CopyRows(rows, outputs * a.residual_size(), residual, p_.outputs() * a.residual_size(),
               own.border_residual, widest() * a.residual_size());
    }
    const void* from =
        whole || !residual ? static_cast<const void*>(residual) : own.border_residual;
    work->targets = work->residual_targets = whole ? own.targets : own.border_targets;
    work->plane = tiles_.block;
    const void* weights = a.WeightsAt(start * p_.depth() + step * tiles_.block * width);
    if constexpr (A::kIntegers) {
      Int8Tiles::TilePostOps target;
      a.SetTarget(start, from, whole ? y : static_cast<void*>(own.border), work, &target);
      RunWork(a, rows, tile_rows, step, vectors, weights, own, work);
    } else {
      a.SetTarget(start, from, whole ? y : static_cast<void*>(own.border), work);
      RunWork(a, rows, tile_rows, step, vectors, weights, own, work);
    }
    if (!whole && work->last) {
      CopyRows(rows, outputs * a.output_size(), own.border, widest() * a.output_size(), y,
               p_.outputs() * a.output_size());
    }
  }

  void RunWork(const A& a, int rows, const TileRows<A>& tile_rows, size_t step, int vectors,
               const void* weights, const Own& own, typename A::Work* work) const {
    if (IsStreamed(a, rows)) {
      work->stored = weights;
      a.streamed(vectors)[rows - 1](*work, 0, 1);
      return;
    }
    const size_t depth = size_t(work->steps_count) * tiles_.block;
    const int width = vectors * tiles_.block;
    const auto add_in_tiles = [&](const auto* source) {
      if (work->first) a.StartSums(width, PixelTiles(rows).padded(), *work);
      work->first = false;
      return AddInTiles(*amx_, a, tile_rows, step * tiles_.block, depth, width, source,
                        own.tile_weights, work->partial);
    };
    if constexpr (A::kIntegers) {
      if (tile_rows.usable() && add_in_tiles(static_cast<const int8_t*>(weights))) {
        work->steps_count = 0;
      } else {
        work->weights = a.Widen(weights, depth * width, own.weights);
      }
    } else {
      work->weights = a.Widen(weights, depth * width, own.weights);
      if (tile_rows.usable() && add_in_tiles(work->weights)) work->steps_count = 0;
    }
    // After the last part in tiles no step is left, but the sums must be written.
    if (work->steps_count > 0 || work->last) {
      work->steps_count *= static_cast<int>(tiles_.block / a.step());
      RunTiles(a.blocked(vectors), tiles_.pixels[vectors - 1], rows, *work);
    }
  }

  static void CopyRows(int rows, size_t bytes, const void* from, size_t from_pitch, void* to,
                       size_t to_pitch) {
    for (int r = 0; r < rows; ++r) {
      std::memcpy(static_cast<char*>(to) + r * to_pitch,
                  static_cast<const char*>(from) + r * from_pitch, bytes);
    }
  }

  const InnerProductPanels& p_;
  const typename A::Tiles& tiles_;
  const AmxTiles* amx_;  // or null
};

/// Scale and bias padded to whole blocks, in scratch memory before the product's.
struct Factors {
  Factors(size_t outputs, Pieces* pieces)
      : scale(pieces->Take<float>(outputs)), bias(pieces->Take<float>(outputs)) {}
  float *scale, *bias;
};
size_t FactorsBytes(const InnerProductPanels& p) {
  return BytesOfPieces<Factors>(p.padded_outputs());
}

/// Calls f(index among the packed weights, index among the weights) for each weight, the packed
/// ones in the order (panel, inputs / together, output, together).
template <typename Function>
void ForEachWeight(const InnerProductPanels& p, int block, size_t together, Function&& f) {
  ParallelFor(p.panels(), 1, [&](size_t begin, size_t end) {
    for (size_t panel = begin; panel < end; ++panel) {
      const size_t start = p.start(panel), width = size_t(p.vectors(panel)) * block;
      for (size_t k = 0; k < size_t(p.inputs()); ++k) {
        for (size_t o = start; o < std::min<size_t>(start + width, p.outputs()); ++o) {
          const size_t row = k / together * width + o - start;
          f(start * p.depth() + row * together + k % together, o * p.inputs() + k);
        }
      }
    }
  });
}

}  // namespace

InnerProductPanels::InnerProductPanels(int inputs, int outputs, int block, int vectors)
    : inputs_(inputs), outputs_(outputs), block_(block), vectors_(vectors) {
  Require(inputs > 0 && outputs > 0, "an inner product of ", inputs, " inputs and ", outputs,
          " outputs");
  depth_ = RoundUp(inputs, block);
  padded_outputs_ = RoundUp(outputs, block);
}

size_t InnerProductPanels::panels() const { return CeilDiv(padded_outputs_, vectors_ * block_); }

int InnerProductPanels::vectors(size_t panel) const {
  return static_cast<int>(std::min<size_t>(vectors_, (padded_outputs_ - start(panel)) / block_));
}

InnerProduct::InnerProduct(int inputs, int outputs, ElementType math)
    : tiles_(ChosenPackedTiles()),
      amx_(ChosenAmxTiles()),
      math_(math),
      panels_(inputs, outputs, tiles_.block, tiles_.vectors) {}

size_t InnerProduct::scratch_bytes(int num) const {
  return FactorsBytes(panels_) + Product<FloatArithmetic>(panels_, tiles_, amx_).ScratchBytes(num);
}

template <typename V, typename W>
void InnerProduct::PackWeights(const V* weights, const float* scale, W* packed) const {
  std::fill_n(packed, packed_size(), W(0.f));
  const size_t row = panels_.inputs();
  ForEachWeight(panels_, tiles_.block, 1, [=](size_t to, size_t from) {
    const float weight = static_cast<float>(weights[from]);
    packed[to] = static_cast<W>(scale ? weight * scale[from / row] : weight);
  });
}

template <typename W>
void InnerProduct::UnpackWeights(const W* packed, W* weights) const {
  ForEachWeight(panels_, tiles_.block, 1,
                [=](size_t to, size_t from) { weights[from] = packed[to]; });
}

void InnerProduct::Forward(int num, Numbers x, Numbers packed, const PostOps& post, void* scratch,
                           Destination y) const {
  Pieces pieces(scratch);
  const Factors own(panels_.padded_outputs(), &pieces);
  const FloatArithmetic a = {
      tiles_,
      {x.data, StorageOf(x.type)},
      {packed.data, StorageOf(packed.type)},
      Padded(post.bias, panels_.outputs(), panels_.padded_outputs(), own.bias),
      post.residual.data,
      post.activation,
      y.y,
      StorageOf(y.type),
      math_};
  Product<FloatArithmetic>(panels_, tiles_, amx_).Run(a, num, pieces.Take<char>(0));
}

#define CAFFE_INNER_PRODUCT(W)                                                      \
  template void InnerProduct::PackWeights(const float*, const float*, W*) const;    \
  template void InnerProduct::PackWeights(const float16*, const float*, W*) const;  \
  template void InnerProduct::PackWeights(const bfloat16*, const float*, W*) const; \
  template void InnerProduct::UnpackWeights(const W*, W*) const
CAFFE_INNER_PRODUCT(float);
CAFFE_INNER_PRODUCT(float16);
CAFFE_INNER_PRODUCT(bfloat16);
#undef CAFFE_INNER_PRODUCT

Int8InnerProduct::Int8InnerProduct(int inputs, int outputs)
    : tiles_(ChosenInt8Tiles()),
      amx_(ChosenAmxTiles()),
      panels_(inputs, outputs, tiles_.block, tiles_.vectors) {
  Require(inputs <= kMaxTerms, "a sum of ", inputs, " products of 8-bit integers; at most ",
          kMaxTerms);
}

size_t Int8InnerProduct::packed_size() const {
  return panels_.size() + (tiles_.has_bytes() ? sizeof(int32_t) * panels_.padded_outputs() : 0);
}

size_t Int8InnerProduct::scratch_bytes(int num) const {
  return FactorsBytes(panels_) +
         (tiles_.has_bytes() ? Product<ByteArithmetic>(panels_, tiles_, amx_).ScratchBytes(num)
                             : Product<PairArithmetic>(panels_, tiles_, amx_).ScratchBytes(num));
}

void Int8InnerProduct::PackWeights(const int8_t* weights, int8_t* packed) const {
  std::fill_n(packed, packed_size(), int8_t(0));
  ForEachWeight(panels_, tiles_.block,
                tiles_.has_bytes() ? ByteArithmetic::kTogether : PairArithmetic::kTogether,
                [=](size_t to, size_t from) { packed[to] = weights[from]; });
  if (!tiles_.has_bytes()) return;
  for (int o = 0; o < panels_.outputs(); ++o, weights += panels_.inputs()) {
    const int32_t start = -128 * std::accumulate(weights, weights + panels_.inputs(), 0);
    std::memcpy(packed + panels_.size() + o * sizeof(start), &start, sizeof(start));
  }
}

void Int8InnerProduct::Forward(int num, Numbers x, const int8_t* packed, const PostOps& post,
                               void* scratch, Destination y) const {
  RequireBytesOrFloats(y.type);
  RequireBytesOrFloats(post.residual.type);
  Pieces pieces(scratch);
  const size_t outputs = panels_.outputs(), padded = panels_.padded_outputs();
  const Factors own(padded, &pieces);
  const float* scale = Padded(post.scale, outputs, padded, own.scale);
  const float* bias = Padded(post.bias, outputs, padded, own.bias);
  Run(num, x, packed, Int8Tiles::InFloats(post, scale, bias, y), pieces.Take<char>(0));
}

std::shared_ptr<const RescalingRows> Int8InnerProduct::Prepare(const Rescaling& by,
                                                               ElementType type) const {
  return std::make_shared<RescalingRows>(by, tiles_, type, panels_.outputs(),
                                         panels_.padded_outputs(), panels_.inputs());
}

void Int8InnerProduct::Forward(int num, Numbers x, const int8_t* packed, const Rescaling& by,
                               void* scratch, Destination y, const RescalingRows* rows) const {
  const auto prepared = rows ? nullptr : Prepare(by, y.type);
  const Int8Tiles::Rescaled& rescaled = (rows ? rows : prepared.get())->get();
  Run(num, x, packed, Int8Tiles::InIntegers(rescaled, y), scratch);
}

template <typename TilePostOps>
void Int8InnerProduct::Run(int num, Numbers x, const int8_t* packed, const TilePostOps& writing,
                           void* scratch) const {
  RequireBytes(x.type);
  const bool is_signed = x.type == ElementType::INT8;
  if (tiles_.has_bytes()) {
    const void* starts = packed + panels_.size();
    const ByteArithmetic a = {tiles_,    x.data,
                              is_signed, packed,
                              writing,   is_signed ? static_cast<const int32_t*>(starts) : nullptr};
    Product<ByteArithmetic>(panels_, tiles_, amx_).Run(a, num, scratch);
  } else {
    const PairArithmetic a = {tiles_, x.data, is_signed, packed, writing, nullptr};
    Product<PairArithmetic>(panels_, tiles_, amx_).Run(a, num, scratch);
  }
}

}  // namespace caffe::kernels
