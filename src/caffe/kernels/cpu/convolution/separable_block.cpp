#include "caffe/kernels/separable_block.hpp"

#include <algorithm>

#include "caffe/kernels/cpu/gemm/packed_tiles.hpp"
#include "caffe/kernels/cpu/resize/image_sizes.hpp"
#include "caffe/kernels/cpu/simd/tile_runs.hpp"
#include "caffe/kernels/cpu/simd/vector_kernels.hpp"
#include "convolution_bands.hpp"
#include "depthwise_direct.hpp"
#include "work_items.hpp"

namespace caffe::kernels {
namespace {

constexpr size_t kStripFloats = 16 << 10;      // of expanded rows that are kept at a time
constexpr size_t kSumFloats = 64 << 10;        // that a thread keeps between parts of the channels
constexpr size_t kLeastProducts = 1 << 17;     // below which work stays on one thread
constexpr size_t kFinishedTogether = 1 << 12;  // sums below which threads do not share the finish

/// Rows [begin, end) of an image's outputs.
struct RowRange {
  int begin, end;
  int count() const { return end - begin; }
};

/// A part of the middle channels is expanded, convolved, and added to the sums of all outputs
/// before the next. Packed weights: of `expand` (part, channel of the input, channel of the part);
/// of `depthwise` (block, position of the kernel, channel); of `project` (part, part of the
/// outputs, channel of the part, output).
class BlockedSeparableBlock : public SeparableBlock {
 public:
  BlockedSeparableBlock(const Shapes& shapes, Split split)
      : tiles_(ChosenPackedTiles()),
        shapes_(shapes),
        split_(split),
        bands_(shapes.depthwise),
        input_blocks_(
            CeilDiv((shapes.expand ? *shapes.expand : shapes.depthwise).channels, tiles_.block)),
        middle_(CeilDiv(shapes.depthwise.channels, tiles_.block), tiles_.vectors),
        outputs_(CeilDiv(shapes.project.outputs, tiles_.block), tiles_.vectors),
        strip_(StripRows()) {}

  int block() const override { return tiles_.block; }
  // Fewer images may need more: threads share each of them.
  size_t scratch_size(int num) const override {
    size_t bytes = 0;
    for (const int some : {num, std::min(num, static_cast<int>(Threads())), std::min(num, 1)}) {
      const Plan plan = PlanFor(some);
      const size_t parts = std::min(Threads(), std::max<size_t>(1, plan.items.count()));
      bytes = std::max(bytes, parts * (BytesOf(plan) + kBetweenThreads));
    }
    return (BiasBytes() + bytes) / sizeof(float);
  }

  Packing expand_packing() const override {
    if (!shapes_.expand) return {0, [](const auto&) {}};
    return {middle_.blocks() * tiles_.block * column(), [this](const auto& f) {
              const size_t inputs = shapes_.expand->channels;
              ForEachOf(middle_, shapes_.depthwise.channels, [&](size_t part, size_t in, size_t o) {
                const size_t first = middle_.Begin(part) * tiles_.block;
                const size_t width = middle_.Count(part) * tiles_.block;
                for (size_t c = 0; c < inputs; ++c) {
                  f(first * column() + c * width + in, o * inputs + c);
                }
              });
            }};
  }
  Packing depthwise_packing() const override {
    return {middle_.blocks() * tiles_.block * bands_.taps(), [this](const auto& f) {
              ForEachDepthwiseWeight(shapes_.depthwise.channels, bands_.taps(), tiles_.block, f);
            }};
  }
  Packing project_packing() const override {
    return {middle_.blocks() * tiles_.block * sums_channels(), [this](const auto& f) {
              const size_t channels = shapes_.project.channels;
              ForEachOf(middle_, channels, [&](size_t part, size_t in, size_t c) {
                ForEachOf(outputs_, shapes_.project.outputs, [&](size_t to, size_t lane, size_t o) {
                  f(ProjectSlice(part, to) + in * outputs_.Count(to) * tiles_.block + lane,
                    o * channels + c);
                });
              });
            }};
  }

  void Forward(int num, Numbers x, const Layers& layers, float* scratch,
               const Destination& y) const override;

 private:
  /// How the work is split: cuts are ranges of rows of each image; slices, with Split::CHANNELS,
  /// parts of the middle channels of one image at a time.
  struct Plan {
    WorkItems items;
    size_t ranges;  // of an image
    int most_rows;  // of a range, which are computed together
    bool in_parts;  // sums are added up at the end
  };
  /// Shared by all items of a call.
  struct Call {
    Stored x, expand_weights, depthwise_weights, project_weights;
    const Layers& layers;
    const float *expand_bias, *depthwise_bias, *project_bias, *zeros;  // padded
    const Destination& y;
    ImageStrides strides;
  };
  /// A thread's scratch memory.
  struct Buffers {
    Buffers(const BlockedSeparableBlock& self, const Plan& plan, Pieces* pieces)
        : expanded(pieces->Take<float>(self.shapes_.expand ? self.most() * self.kept() : 0)),
          input(pieces->Take<float>(self.shapes_.expand ? self.input_blocks_ * self.kept() : 0)),
          made(pieces->Take<float>(self.most() * self.strip_pixels() * self.tiles_.block)),
          sums(pieces->Take<float>(self.SumsOf(plan))),
          expand_weights(pieces->Take<float>(
              self.shapes_.expand ? self.most() * self.tiles_.block * self.column() : 0)),
          kernels(pieces->Take<float>(self.most() * self.tiles_.block * self.bands_.taps())),
          project_weights(
              pieces->Take<float>(self.most() * self.tiles_.block * self.sums_channels())),
          steps(pieces->Take<int32_t>(std::max(self.input_blocks_, self.most()))),
          windows(
              pieces->Take<int32_t>(std::max(self.slots() * self.width(), self.strip_pixels()))),
          slots(pieces->Take<size_t>(self.slots() * self.width())),
          targets(pieces->Take<size_t>(size_t(plan.most_rows) * self.bands_.columns().output)) {}
    float *expanded, *input;  // (blocks, slots of rows, columns, block)
    float* made;              // (blocks, outputs of a strip, block)
    float* sums;              // (parts of the outputs, pixels, outputs of the part)
    float *expand_weights, *kernels, *project_weights;
    int32_t *steps, *windows;
    size_t *slots, *targets;
  };
  /// What an item multiplies by: the weights of a part of the middle channels as floats.
  struct Part {
    size_t index, first, blocks;
    const float *expand, *kernels, *project;
  };

  size_t most() const { return middle_.largest(); }
  int width() const { return bands_.columns().input; }
  /// Elements of a row of one block of the depthwise convolution's input.
  size_t row() const { return size_t(width()) * tiles_.block; }
  /// Rows that are kept, row r in slot r % slots(): those under the kernels of a strip.
  size_t slots() const { return size_t(strip_ - 1) * bands_.rows().stride + bands_.rows().kernel; }
  size_t kept() const { return slots() * row(); }
  size_t strip_pixels() const { return size_t(strip_) * bands_.columns().output; }
  size_t column() const { return input_blocks_ * tiles_.block; }
  size_t sums_channels() const { return outputs_.blocks() * tiles_.block; }
  /// Of one part of the channels tiles write the outputs at once.
  size_t SumsOf(const Plan& plan) const {
    if (middle_.count() == 1 && !plan.in_parts) return 0;
    return size_t(plan.most_rows) * bands_.columns().output * sums_channels();
  }
  size_t ProjectSlice(size_t part, size_t to) const {
    const size_t block = tiles_.block;
    return middle_.Begin(part) * block * sums_channels() +
           outputs_.Begin(to) * block * middle_.Count(part) * block;
  }
  size_t BytesOf(const Plan& plan) const { return BytesOfPieces<Buffers>(*this, plan); }
  /// Of the three biases and of zeros for sums that begin with none.
  size_t BiasBytes() const {
    return (2 * middle_.blocks() + 2 * outputs_.blocks()) *
           RoundUp(tiles_.block * sizeof(float), 64);
  }

  int StripRows() const {
    const BandAxis& rows = bands_.rows();
    const int kept = static_cast<int>(kStripFloats / std::max<size_t>(1, row() * most()));
    return std::clamp((kept - rows.kernel) / rows.stride + 1, 1, rows.output);
  }
  Plan PlanFor(int num) const {
    const size_t rows = bands_.rows().output;
    Plan plan = {{size_t(num), 1, 1}, 1, static_cast<int>(rows), false};
    if (split_ == Split::CHANNELS && num % Threads() != 0) {
      plan.items = {1, 1, middle_.count()};
      plan.in_parts = true;
      return plan;
    }
    plan.ranges = num % Threads() == 0 ? 1 : std::min(Threads(), rows);
    plan.items.cuts = num * plan.ranges;
    const size_t fit = kSumFloats / (bands_.columns().output * sums_channels());  // or none
    plan.most_rows =
        static_cast<int>(std::min(std::max<size_t>(fit, strip_), CeilDiv(rows, plan.ranges)));
    return plan;
  }
  /// f(part, its lane, channel) for each channel.
  template <typename Function>
  void ForEachOf(const BlockParts& parts, size_t channels, Function&& f) const {
    for (size_t part = 0; part < parts.count(); ++part) {
      const size_t first = parts.Begin(part) * tiles_.block;
      const size_t end = std::min(channels, parts.Begin(part + 1) * tiles_.block);
      for (size_t c = first; c < end; ++c) f(part, c - first, c);
    }
  }

  Part PartOf(const Call& call, size_t index, const Buffers& own) const;
  void Expand(const Call& call, size_t image, const RowRange& rows, const Part& part,
              const Buffers& own) const;
  void Convolve(const Call& call, size_t image, const RowRange& strip, const Part& part,
                const Buffers& own) const;
  void Project(const Call& call, size_t image, const RowRange& range, const RowRange& strip,
               const Part& part, const float* bias, bool first, bool last,
               const Buffers& own) const;
  /// The outputs of a range, or with `begin` and `end` the sums of these parts of the channels.
  void RunRange(const Call& call, size_t image, const RowRange& range, size_t begin, size_t end,
                bool in_parts, const Buffers& own) const;
  void RunInParts(const Call& call, size_t image, const Plan& plan, char* memory) const;
  void PrepareOffsets(const Plan& plan, const Buffers& own) const;
  /// Of `items` equal ones, so many as are worth a thread.
  size_t Grain(size_t images, size_t items) const;
  PackedTiles::Work OutputsOf(const Call& call, size_t image, size_t to, int row) const;

  const PackedTiles& tiles_;
  const Shapes shapes_;
  const Split split_;
  const Bands bands_;  // of the depthwise convolution
  const size_t input_blocks_;
  const BlockParts middle_, outputs_;
  const int strip_;  // rows of outputs that are computed at a time
};

const float* AsFloats(const Stored& x, size_t offset, size_t n, float* wide) {
  return Widened(x.storage, n, x.at(offset), wide);
}

const float* SlopesFrom(const Activation& f, size_t channel) {
  return f.slopes ? f.slopes + channel : nullptr;
}

BlockedSeparableBlock::Part BlockedSeparableBlock::PartOf(const Call& call, size_t index,
                                                          const Buffers& own) const {
  const size_t block = tiles_.block, first = middle_.Begin(index), blocks = middle_.Count(index);
  const size_t channels = blocks * block, kernel = bands_.taps();
  Part part = {index, first, blocks, nullptr, nullptr, nullptr};
  if (shapes_.expand) {
    part.expand = AsFloats(call.expand_weights, first * block * column(), channels * column(),
                           own.expand_weights);
  }
  part.kernels =
      AsFloats(call.depthwise_weights, first * block * kernel, channels * kernel, own.kernels);
  part.project = AsFloats(call.project_weights, first * block * sums_channels(),
                          channels * sums_channels(), own.project_weights);
  return part;
}

void BlockedSeparableBlock::PrepareOffsets(const Plan& plan, const Buffers& own) const {
  const size_t block = tiles_.block;
  for (size_t p = 0; p < std::max(slots() * width(), strip_pixels()); ++p) {
    own.windows[p] = static_cast<int32_t>(p * block);
  }
  for (size_t p = 0; p < size_t(plan.most_rows) * bands_.columns().output; ++p) {
    own.targets[p] = p * block;
  }
}

size_t BlockedSeparableBlock::Grain(size_t images, size_t items) const {
  size_t products =
      (shapes_.depthwise.weight_count() + shapes_.project.weight_count()) * bands_.output_plane();
  if (shapes_.expand) products += shapes_.expand->weight_count() * bands_.input_plane();
  return std::max<size_t>(1, kLeastProducts / std::max<size_t>(1, images * products / items));
}

/// Rows of the expanded image, each into its slot.
void BlockedSeparableBlock::Expand(const Call& call, size_t image, const RowRange& rows,
                                   const Part& part, const Buffers& own) const {
  const size_t block = tiles_.block, plane = bands_.input_plane() * block;
  const size_t first = image * call.strides.x + rows.begin * row();
  const int pixels = rows.count() * width(), v = static_cast<int>(part.blocks);
  const Activation& activation = call.layers.expand.post.activation;
  PackedTiles::Work work = {};
  size_t step = plane;
  if (call.x.storage == STORED_FLOAT) {
    work.x = static_cast<const float*>(call.x.at(first));
  } else {
    work.x = own.input;
    step = kept();
    for (size_t u = 0; u < input_blocks_; ++u) {
      AsFloats(call.x, first + u * plane, pixels * block, own.input + u * step);
    }
  }
  for (size_t u = 0; u < input_blocks_; ++u) own.steps[u] = static_cast<int32_t>(u * step);
  size_t* slot = own.slots;
  for (int r = rows.begin; r < rows.end; ++r) {
    size_t at = r % slots() * row();
    for (int c = 0; c < width(); ++c, at += block) *slot++ = at;
  }
  work.steps = own.steps;
  work.steps_count = static_cast<int>(input_blocks_);
  work.windows = own.windows;
  work.weights = part.expand;
  work.bias = call.expand_bias + part.first * block;
  work.first = work.last = true;
  work.activation = &activation;
  work.slopes = SlopesFrom(activation, part.first * block);
  work.y = own.expanded;
  work.storage = STORED_FLOAT;
  work.targets = work.residual_targets = own.slots;
  work.plane = kept();
  RunTiles(tiles_.blocked[v - 1], tiles_.pixels[v - 1], pixels, work);
}

/// The depthwise convolution's outputs of a strip.
void BlockedSeparableBlock::Convolve(const Call& call, size_t image, const RowRange& strip,
                                     const Part& part, const Buffers& own) const {
  const size_t block = tiles_.block, kernel = bands_.taps() * block;
  const BandAxis &rows = bands_.rows(), &columns = bands_.columns();
  const Storage storage = shapes_.expand ? STORED_FLOAT : call.x.storage;
  const auto run_row = DirectDepthwise(tiles_.depthwise_direct[storage][false], bands_);
  const Activation& activation = call.layers.depthwise.post.activation;
  DepthwiseRow line = CommonRow({}, block, 0);
  line.kernel_rows = rows.kernel;
  line.output_rows = 1;
  line.width = columns.input;
  line.pad = columns.pad;
  line.pixels = columns.output;
  for (size_t b = 0; b < part.blocks; ++b) {
    PackedTiles::Work work = {};
    work.bias = call.depthwise_bias + (part.first + b) * block;
    work.activation = &activation;
    work.slopes = SlopesFrom(activation, (part.first + b) * block);
    work.y = own.made + b * strip_pixels() * block;
    work.storage = STORED_FLOAT;
    line.weights = part.kernels + b * kernel;
    const size_t plane = image * call.strides.x + (part.first + b) * bands_.input_plane() * block;
    const auto row_of = [&](int r) -> const void* {
      if (r < 0 || r >= rows.input) return nullptr;
      if (!shapes_.expand) return call.x.at(plane + r * row());
      return own.expanded + b * kept() + r % slots() * row();
    };
    for (int r = strip.begin; r < strip.end; ++r) {
      for (int k = 0; k < rows.kernel; ++k) line.rows[k] = row_of(rows.first(r) + k);
      run_row(work, line, size_t(r - strip.begin) * columns.output);
    }
  }
  // An infinity times the zeros that pad weights is no zero.
  const size_t used = shapes_.depthwise.channels % block;
  if (used != 0 && part.first + part.blocks == middle_.blocks()) {
    ClearLanes(own.made + (part.blocks - 1) * strip_pixels() * block,
               size_t(strip.count()) * columns.output, block, used, sizeof(float), block);
  }
}

/// What tiles write of part `to` of the outputs, from row `row` of them on.
PackedTiles::Work BlockedSeparableBlock::OutputsOf(const Call& call, size_t image, size_t to,
                                                   int row) const {
  const size_t block = tiles_.block, first = outputs_.Begin(to);
  const PostOps& post = call.layers.project.post;
  const size_t plane = bands_.output_plane() * block;
  const size_t at = first * plane + size_t(row) * bands_.columns().output * block;
  PackedTiles::Work work = {};
  work.activation = &post.activation;
  work.slopes = SlopesFrom(post.activation, first * block);
  work.storage = StorageOf(call.y.type);
  work.y = static_cast<char*>(call.y.y) + (image * call.strides.y + at) * SizeOf(call.y.type);
  if (post.residual.data) work.residual = post.residual.at(image * call.strides.residual + at);
  work.plane = plane;
  return work;
}

/// Adds the products of a part of the channels to the sums of a strip's outputs.
void BlockedSeparableBlock::Project(const Call& call, size_t image, const RowRange& range,
                                    const RowRange& strip, const Part& part, const float* bias,
                                    bool first, bool last, const Buffers& own) const {
  const size_t block = tiles_.block, columns = bands_.columns().output;
  const size_t done = (strip.begin - range.begin) * columns, all = range.count() * columns;
  for (size_t b = 0; b < part.blocks; ++b) {
    own.steps[b] = static_cast<int32_t>(b * strip_pixels() * block);
  }
  for (size_t to = 0; to < outputs_.count(); ++to) {
    const size_t v = outputs_.Count(to), start = outputs_.Begin(to) * block;
    PackedTiles::Work work = OutputsOf(call, image, to, range.begin);
    work.x = own.made;
    work.steps = own.steps;
    work.steps_count = static_cast<int>(part.blocks);
    work.windows = own.windows;
    work.weights = part.project + start * part.blocks * block;
    work.bias = bias + start;
    work.partial = own.sums + start * all + done * v * block;
    work.first = first;
    work.last = last;
    work.targets = work.residual_targets = own.targets + done;
    RunTiles(tiles_.blocked[v - 1], tiles_.pixels[v - 1], static_cast<int>(strip.count() * columns),
             work);
  }
}

void BlockedSeparableBlock::RunRange(const Call& call, size_t image, const RowRange& range,
                                     size_t begin, size_t end, bool in_parts,
                                     const Buffers& own) const {
  const BandAxis& rows = bands_.rows();
  for (size_t index = begin; index < end; ++index) {
    const Part part = PartOf(call, index, own);
    const float* const bias = index == 0 ? call.project_bias : call.zeros;
    const bool last = !in_parts && index + 1 == end;
    int done = 0;  // rows that are expanded
    for (RowRange strip = {range.begin, 0}; strip.begin < range.end; strip.begin = strip.end) {
      strip.end = std::min(range.end, strip.begin + strip_);
      const int from = std::max({0, done, rows.first(strip.begin)});
      const int to = std::min(rows.input, rows.first(strip.end - 1) + rows.kernel);
      if (shapes_.expand && from < to) Expand(call, image, {from, to}, part, own);
      done = std::max(done, to);
      Convolve(call, image, strip, part, own);
      Project(call, image, range, strip, part, bias, index == begin, last, own);
    }
  }
}

/// One image, of which each thread sums some of the channels.
void BlockedSeparableBlock::RunInParts(const Call& call, size_t image, const Plan& plan,
                                       char* memory) const {
  const size_t block = tiles_.block, pixels = bands_.output_plane();
  const size_t bytes = BytesOf(plan) + kBetweenThreads;
  const size_t grain = Grain(1, middle_.count()), parts = ParallelParts(middle_.count(), grain);
  const auto buffers = [&](size_t part) {
    Pieces pieces(memory + part * bytes);
    return Buffers(*this, plan, &pieces);
  };
  ParallelParts(middle_.count(), grain, [&](size_t thread, size_t begin, size_t end) {
    const Buffers own = buffers(thread);
    PrepareOffsets(plan, own);
    RunRange(call, image, {0, bands_.rows().output}, begin, end, /*in_parts=*/true, own);
  });
  const auto add = Loops<float>().add;
  const Buffers all = buffers(0);
  const size_t size = SizeOf(call.y.type);
  const size_t together = std::max<size_t>(1, kFinishedTogether / sums_channels());
  ParallelFor(pixels, together, [&](size_t begin, size_t end) {
    constexpr size_t kSome = 128;
    int32_t places[kSome];
    for (size_t some = begin; some < end; some += kSome) {
      const size_t count = std::min(kSome, end - some);
      for (size_t p = 0; p < count; ++p) places[p] = static_cast<int32_t>(some + p);
      for (size_t to = 0; to < outputs_.count(); ++to) {
        const size_t v = outputs_.Count(to), start = outputs_.Begin(to) * block * pixels;
        float* const sum = all.sums + start + some * v * block;
        for (size_t i = 1; i < parts; ++i) {
          add(count * v * block, sum, buffers(i).sums + (sum - all.sums), sum);
        }
        PackedTiles::Work work = OutputsOf(call, image, to, 0);
        for (size_t i = 0; i < v; ++i) {
          const PixelSums sums = {sum + i * block, v * block, static_cast<int>(count), 1, places,
                                  block,           block};
          tiles_.finish_pixels(work, sums);
          work.y = static_cast<char*>(work.y) + work.plane * size;
          if (work.residual) {
            work.residual = static_cast<const char*>(work.residual) + work.plane * size;
          }
          if (work.slopes) work.slopes += block;
        }
      }
    }
  });
}

void BlockedSeparableBlock::Forward(int num, Numbers x, const Layers& layers, float* scratch,
                                    const Destination& y) const {
  if (num == 0) return;
  const size_t block = tiles_.block;
  char* memory = reinterpret_cast<char*>(scratch);
  const auto padded = [&](const float* bias, size_t count, size_t blocks) {
    float* const place = reinterpret_cast<float*>(memory);
    memory += blocks * RoundUp(block * sizeof(float), 64);
    return Padded(bias, count, blocks * block, place);
  };
  const int middle = shapes_.depthwise.channels, outputs = shapes_.project.outputs;
  const float* const expand_bias = padded(layers.expand.post.bias, middle, middle_.blocks());
  const float* const depthwise_bias = padded(layers.depthwise.post.bias, middle, middle_.blocks());
  const float* const project_bias = padded(layers.project.post.bias, outputs, outputs_.blocks());
  const float* const zeros = padded(nullptr, outputs, outputs_.blocks());
  const Call call = {{x.data, StorageOf(x.type)},
                     {layers.expand.weights.data, StorageOf(layers.expand.weights.type)},
                     {layers.depthwise.weights.data, StorageOf(layers.depthwise.weights.type)},
                     {layers.project.weights.data, StorageOf(layers.project.weights.type)},
                     layers,
                     expand_bias,
                     depthwise_bias,
                     project_bias,
                     zeros,
                     y,
                     WithoutZeros(y.strides, {column(), bands_.input_plane()},
                                  {sums_channels(), bands_.output_plane()}, block,
                                  layers.project.post.residual.data != nullptr)};
  const Plan plan = PlanFor(num);
  if (plan.in_parts) {
    for (int image = 0; image < num; ++image) RunInParts(call, image, plan, memory);
  } else {
    const size_t rows = bands_.rows().output, bytes = BytesOf(plan) + kBetweenThreads;
    const size_t count = plan.items.count();
    ParallelParts(count, Grain(num, count), [&](size_t thread, size_t begin, size_t end) {
      Pieces pieces(memory + thread * bytes);
      const Buffers own(*this, plan, &pieces);
      PrepareOffsets(plan, own);
      for (size_t i = begin; i < end; ++i) {
        const size_t range = i % plan.ranges;
        const int last = static_cast<int>(rows * (range + 1) / plan.ranges);
        for (int row = static_cast<int>(rows * range / plan.ranges); row < last;) {
          const RowRange some = {row, std::min(last, row + plan.most_rows)};
          RunRange(call, i / plan.ranges, some, 0, middle_.count(), /*in_parts=*/false, own);
          row = some.end;
        }
      }
    });
  }
  if (const size_t used = outputs % block) {
    Bands(shapes_.project)
        .ClearLastLanes(num, outputs_.blocks() - 1, block, used, SizeOf(y.type), call.strides, y.y);
  }
}

bool Is1x1(const ConvolutionShape& s) {
  return s.axes() == 2 && s.is_pointwise() && s.group == 1 && s.weight_count() > 0;
}

}  // namespace

std::shared_ptr<const SeparableBlock> SeparableBlock::Make(const Shapes& shapes, Split split) {
  const ConvolutionShape& depthwise = shapes.depthwise;
  if (depthwise.axes() != 2 || !depthwise.is_depthwise() || depthwise.output_spatial() == 0 ||
      !OffsetsFit(depthwise) || !IsDirectDepthwise(Bands(depthwise))) {
    return nullptr;
  }
  const auto follows = [](const ConvolutionShape& next, const ConvolutionShape& before) {
    return next.channels == before.outputs && next.input == before.output;
  };
  if (!Is1x1(shapes.project) || !follows(shapes.project, depthwise)) return nullptr;
  if (shapes.expand && (!Is1x1(*shapes.expand) || !follows(depthwise, *shapes.expand))) {
    return nullptr;
  }
  // Offsets in x have 32 bits.
  const size_t channels = RoundUp((shapes.expand ? *shapes.expand : depthwise).channels, 64);
  if (channels * depthwise.input_spatial() >= size_t(1) << 31) return nullptr;
  return std::make_shared<BlockedSeparableBlock>(shapes, split);
}

}  // namespace caffe::kernels
