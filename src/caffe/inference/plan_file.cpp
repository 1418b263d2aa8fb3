#include "plan_file.hpp"

#include <cstddef>
#include <cstring>
#include <limits>
#include <map>

#include "backends/cuda/cuda_engine.hpp"
#include "caffe/allocator.hpp"
#include "caffe/core/error_context.hpp"
#include "caffe/core/limits.hpp"
#include "caffe/error.hpp"
#include "caffe/io/atomic_file.hpp"
#include "caffe/io/mapped_file.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/version.hpp"

namespace caffe::inference {
namespace {

constexpr char kMagic[8] = {'C', 'O', 'R', 'T', 'P', 'L', 'A', 'N'};
constexpr size_t kAlignment = Allocator::kAlignment;

/// In fingerprints of plans for a GPU.
const std::string kGpu = "GPU: ";

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t zero;
  uint64_t file_size;
  uint64_t description_size;
  uint64_t checksum;
  uint8_t rest[24];
};
static_assert(sizeof(Header) == 64, "the header of a plan has 64 bytes");

constexpr size_t kSummedHeader = offsetof(Header, checksum);

size_t Aligned(size_t offset) { return kernels::RoundUp(offset, kAlignment); }

/// Appends numbers and strings. Constants are put behind the description, each once.
class Writer {
 public:
  void Number(int64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), 8); }
  void Real(float value) { bytes_.append(reinterpret_cast<const char*>(&value), 4); }
  void Text(const std::string& text) {
    Number(static_cast<int64_t>(text.size()));
    bytes_ += text;
  }
  void Texts(const std::vector<std::string>& texts) {
    Number(static_cast<int64_t>(texts.size()));
    for (const std::string& text : texts) Text(text);
  }
  void Numbers(const std::vector<int>& values) {
    Number(static_cast<int64_t>(values.size()));
    for (const int value : values) Number(value);
  }
  void Reals(const std::vector<float>& values) {
    Number(static_cast<int64_t>(values.size()));
    for (const float value : values) Real(value);
  }
  void Add(const Constant& constant) {
    Numbers(constant.shape);
    Number(static_cast<int64_t>(constant.type));
    // In a file that was read one may begin where another of another size does.
    const size_t size = BytesOf(constant);
    const auto [known, is_new] = offsets_.emplace(std::make_pair(constant.data.get(), size), end_);
    Number(static_cast<int64_t>(known->second));
    if (!is_new) return;
    constants_.push_back(constant);
    end_ = Aligned(end_ + size);
  }
  void Add(const std::vector<Constant>& constants) {
    Number(static_cast<int64_t>(constants.size()));
    for (const Constant& constant : constants) Add(constant);
  }
  void Add(const LayerParameter& layer) { Text(layer.SerializeAsString()); }

  const std::string& bytes() const { return bytes_; }
  const std::vector<Constant>& constants() const { return constants_; }
  size_t constants_size() const { return end_; }

 private:
  std::string bytes_;
  std::vector<Constant> constants_;
  std::map<std::pair<const void*, size_t>, size_t> offsets_;  // of address and size
  size_t end_ = 0;
};

void Write(const Value& value, Writer* out) {
  out->Text(value.name);
  out->Numbers(value.shape);
  out->Number(static_cast<int64_t>(value.type));
  out->Real(value.affine.scale);
  out->Number(value.affine.zero_point);
  out->Number(value.layout);
  out->Number(value.block);
  out->Reals(value.channel_scales);
  out->Number(value.view.base);
  out->Number(value.view.axis);
  out->Number(value.view.offset);
  out->Number(value.arena_offset);
  out->Number(value.is_constant());
  if (value.is_constant()) out->Add(Constant{value.shape, value.type, value.data});
}

void Write(const std::optional<IntegerArithmetic>& integers, Writer* out) {
  out->Number(integers.has_value());
  if (!integers) return;
  out->Number(static_cast<int64_t>(integers->rounding));
  out->Number(integers->least);
  out->Number(integers->most);
  out->Number(integers->weight_zero_point);
}

void Write(const Node& node, Writer* out) {
  out->Add(node.layer);
  out->Numbers(node.inputs);
  out->Numbers(node.outputs);
  out->Add(node.parameters);
  out->Number(static_cast<int64_t>(node.epilogue.size()));
  for (const Epilogue& step : node.epilogue) {
    out->Add(step.layer);
    out->Add(step.parameters);
    out->Number(step.operand);
    out->Number(static_cast<int64_t>(step.type));
    out->Real(step.affine.scale);
    out->Number(step.affine.zero_point);
    Write(step.integers, out);
  }
  Write(node.integers, out);
  out->Text(node.implementation);
  out->Number(static_cast<int64_t>(node.math));
  out->Real(node.microseconds);
}

void Write(const ImagePreprocessing& preprocessing, Writer* out) {
  out->Text(preprocessing.input);
  out->Reals(preprocessing.mean);
  out->Real(preprocessing.scale);
  out->Number(preprocessing.rgb);
  out->Number(preprocessing.resize_height);
  out->Number(preprocessing.resize_width);
  out->Number(preprocessing.engine_normalizes);
  out->Number(static_cast<int64_t>(preprocessing.constants.size()));
  for (const auto& [input, values] : preprocessing.constants) {
    out->Text(input);
    out->Reals(values);
  }
}

void Write(const Graph& graph, Writer* out) {
  out->Text(graph.name);
  out->Number(static_cast<int64_t>(graph.values.size()));
  for (const Value& value : graph.values) Write(value, out);
  out->Number(static_cast<int64_t>(graph.nodes.size()));
  for (const Node& node : graph.nodes) Write(node, out);
  out->Numbers(graph.inputs);
  out->Numbers(graph.outputs);
  for (const std::vector<Shape>* shapes : {&graph.min_inputs, &graph.opt_inputs}) {
    out->Number(static_cast<int64_t>(shapes->size()));
    for (const Shape& shape : *shapes) out->Numbers(shape);
  }
  out->Number(static_cast<int64_t>(graph.arena_bytes));
  out->Number(graph.preprocessing != nullptr);
  if (graph.preprocessing) Write(*graph.preprocessing, out);
  out->Texts(graph.class_names);
}

/// Reads what Writer appends, from a mapped file. Throws Error for truncated or invalid data.
class Reader {
 public:
  Reader(std::shared_ptr<const MappedFile> file, size_t description_size)
      : file_(std::move(file)),
        at_(file_->data() + sizeof(Header)),
        end_(at_ + description_size),
        constants_(file_->data() + Aligned(sizeof(Header) + description_size)) {}

  int64_t Number() { return Take<int64_t>(); }
  float Real() { return Take<float>(); }
  int Int() {
    const int64_t value = Number();
    Require(value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max(),
            "a number is out of range");
    return static_cast<int>(value);
  }
  /// A count of items that take at least `item_bytes` each.
  size_t Count(int64_t item_bytes = 1) {
    const int64_t count = Number();
    Require(count >= 0 && count <= (end_ - at_) / item_bytes, "it lists more than it holds");
    return static_cast<size_t>(count);
  }
  std::string Text() {
    const size_t size = Count();
    const char* begin = reinterpret_cast<const char*>(at_);
    at_ += size;
    return std::string(begin, size);
  }
  std::vector<std::string> Texts() {
    std::vector<std::string> texts(Count(8));
    for (std::string& text : texts) text = Text();
    return texts;
  }
  std::vector<int> Numbers() {
    std::vector<int> values(Count(8));
    for (int& value : values) value = Int();
    return values;
  }
  std::vector<float> Reals() {
    std::vector<float> values(Count(4));
    for (float& value : values) value = Real();
    return values;
  }
  ElementType Type() {
    const int64_t type = Number();
    Require(type >= 0 && type <= static_cast<int64_t>(ElementType::UINT32),
            "there is no element type ", type);
    return static_cast<ElementType>(type);
  }
  LayerParameter Layer() {
    LayerParameter layer;
    Require(layer.ParseFromString(Text()), "a layer's parameters cannot be read");
    return layer;
  }
  Constant OneConstant() {
    Constant constant;
    constant.shape = Numbers();
    constant.type = Type();
    const int64_t offset = Number();
    const size_t size = file_->data() + file_->size() - constants_;
    double bytes = static_cast<double>(SizeOf(constant.type));
    for (const int extent : constant.shape) {
      Require(extent >= 0, "an extent is negative");
      bytes *= extent;
    }
    Require(offset >= 0 && static_cast<size_t>(offset) <= size &&
                static_cast<size_t>(offset) % kAlignment == 0 &&
                bytes <= static_cast<double>(size - offset),
            "a constant does not lie within the file");
    constant.data = std::shared_ptr<const void>(file_, constants_ + offset);
    return constant;
  }
  std::vector<Constant> Constants() {
    std::vector<Constant> constants(Count(24));  // numbers
    for (Constant& constant : constants) constant = OneConstant();
    return constants;
  }
  bool AtEnd() const { return at_ == end_; }

 private:
  template <typename T>
  T Take() {
    Require(static_cast<size_t>(end_ - at_) >= sizeof(T), "its description ends too early");
    T value;
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  std::shared_ptr<const MappedFile> file_;
  const uint8_t* at_;
  const uint8_t* end_;
  const uint8_t* constants_;
};

Value ReadValue(Reader* in) {
  Value value;
  value.name = in->Text();
  value.shape = in->Numbers();
  value.type = in->Type();
  value.affine.scale = in->Real();
  value.affine.zero_point = in->Int();
  const int layout = in->Int();
  Require(layout >= Layout::PLAIN && layout <= Layout::CHANNELS_BLOCKED, "there is no layout ",
          layout);
  value.layout = static_cast<Layout::Kind>(layout);
  value.block = in->Int();
  value.channel_scales = in->Reals();
  Require(value.channel_scales.empty() ||
              (value.shape.size() >= 2 &&
               value.channel_scales.size() == static_cast<size_t>(value.shape[1])),
          "value '", value.name, "' has scales for other channels than its own");
  constexpr int kMaxBlock = 64;  // channels; targets' are smaller
  Require(value.block > 0 && value.block <= kMaxBlock &&
              (layout == Layout::PLAIN || value.shape.size() >= 2),
          "value '", value.name, "' cannot lie in blocks of channels");
  value.view.base = in->Int();
  value.view.axis = in->Int();
  value.view.offset = in->Int();
  value.arena_offset = in->Number();
  if (in->Number()) {
    const Constant constant = in->OneConstant();
    Require(constant.shape == value.shape && constant.type == value.type,
            "a constant's elements are not its value's");
    value.data = constant.data;
  }
  return value;
}

std::optional<IntegerArithmetic> ReadIntegers(Reader* in) {
  if (!in->Number()) return {};
  IntegerArithmetic integers;
  const int64_t rounding = in->Number();
  Require(rounding == 0 || rounding == 1, "there is no rounding ", rounding);
  integers.rounding = static_cast<kernels::Rounding>(rounding);
  integers.least = in->Int();
  integers.most = in->Int();
  integers.weight_zero_point = in->Int();
  Require(integers.weight_zero_point >= 0 && integers.weight_zero_point <= 255,
          "a zero point of weights is ", integers.weight_zero_point, ", not from 0 to 255");
  return integers;
}

Node ReadNode(Reader* in) {
  Node node;
  node.layer = in->Layer();
  node.inputs = in->Numbers();
  node.outputs = in->Numbers();
  node.parameters = in->Constants();
  node.epilogue.resize(in->Count(52));
  for (Epilogue& step : node.epilogue) {
    step.layer = in->Layer();
    step.parameters = in->Constants();
    step.operand = in->Int();
    Require(step.operand >= -1, "an epilogue's operand is no value");
    step.type = in->Type();
    step.affine.scale = in->Real();
    step.affine.zero_point = in->Int();
    step.integers = ReadIntegers(in);
  }
  node.integers = ReadIntegers(in);
  // Kernels for signed bytes take weights as they are: the results would be wrong.
  if (node.integers && node.integers->weight_zero_point != 0 && !node.parameters.empty() &&
      node.parameters[0].type == ElementType::INT8) {
    WithLayer(node, [&] {
      Fail(Error::Field{"weight_zero_point"}, " is ", node.integers->weight_zero_point,
           ", and weights of INT8 have none", Error::Remedy{"build the plan again"});
    });
  }
  node.implementation = in->Text();
  node.math = in->Type();
  node.microseconds = in->Real();
  return node;
}

ImagePreprocessing ReadPreprocessing(Reader* in) {
  ImagePreprocessing preprocessing;
  preprocessing.input = in->Text();
  preprocessing.mean = in->Reals();
  preprocessing.scale = in->Real();
  preprocessing.rgb = in->Number() != 0;
  preprocessing.resize_height = in->Int();
  preprocessing.resize_width = in->Int();
  preprocessing.engine_normalizes = in->Number() != 0;
  for (size_t left = in->Count(16); left > 0; --left) {
    const std::string input = in->Text();
    preprocessing.constants[input] = in->Reals();
  }
  return preprocessing;
}

/// Of a graph that is valid otherwise: memory that a context takes, and what layers may do.
void CheckLimits(const Graph& graph) {
  uint64_t bytes = graph.arena_bytes;
  for (const Value& value : graph.values) {
    const std::string what = "value '" + value.name + "'";
    limits::Check(limits::kAxes, value.shape.size(), what);
    limits::Check(limits::kBlobBytes, BytesOf(value), what);
    if (!value.is_constant() && value.arena_offset < 0 && value.view.base < 0) {
      bytes += BytesOf(value);  // at most 2^36 each, and there are fewer than 2^25
    }
  }
  limits::Check(limits::kNetBytes, bytes, "graph '", graph.name, "'");
  for (const Node& node : graph.nodes) {
    WithLayer(node, [&] { limits::CheckAccess(node.layer); });
    for (const Epilogue& step : node.epilogue) {
      WithLayer(step.layer, [&] { limits::CheckAccess(step.layer); });
    }
  }
}

Graph ReadGraph(Reader* in) {
  Graph graph;
  graph.name = in->Text();
  // The numbers that each has at least.
  constexpr int64_t kValueBytes = 12 * 8, kNodeBytes = 8 * 8;
  graph.values.resize(in->Count(kValueBytes));
  for (Value& value : graph.values) value = ReadValue(in);
  graph.nodes.resize(in->Count(kNodeBytes));
  limits::Check(limits::kLayers, graph.nodes.size(), "graph '", graph.name, "'");
  for (Node& node : graph.nodes) node = ReadNode(in);
  graph.inputs = in->Numbers();
  graph.outputs = in->Numbers();
  for (std::vector<Shape>* shapes : {&graph.min_inputs, &graph.opt_inputs}) {
    shapes->resize(in->Count(8));
    for (Shape& shape : *shapes) shape = in->Numbers();
  }
  const int64_t arena = in->Number();
  Require(arena >= 0, "its arena's size is negative");
  graph.arena_bytes = static_cast<size_t>(arena);
  if (in->Number() != 0) {
    graph.preprocessing = std::make_shared<const ImagePreprocessing>(ReadPreprocessing(in));
  }
  graph.class_names = in->Texts();
  graph.Validate();
  CheckLimits(graph);
  return graph;
}

uint64_t ChecksumOf(const Header& header, const uint8_t* rest, size_t size) {
  return PlanChecksum(rest, size, PlanChecksum(&header, kSummedHeader, 0));
}

/// The target that a plan's fingerprint is for. Throws Error if it is not one of this machine.
std::string TargetIn(const std::string& fingerprint) {
  if (fingerprint == PlanFingerprint()) return "";
  std::string here = PlanFingerprint();
  if (fingerprint.find(kGpu) != std::string::npos) {
    try {
      here = PlanFingerprint(cuda::kTarget);
    } catch (Error& error) {
      error.AddContext(Join("it was built for ", fingerprint));
      throw;
    }
    if (fingerprint == here) return cuda::kTarget;
  }
  Fail("it was built for ", fingerprint, ", and this is ", here, Error::Remedy{"build it again"});
}

Plan ReadMapped(const std::shared_ptr<const MappedFile>& file) {
  Header header;
  Require(file->size() >= sizeof(header.magic) &&
              std::memcmp(file->data(), kMagic, sizeof(kMagic)) == 0,
          "it is no plan: `caffe build` writes one");
  Require(file->size() >= sizeof(header), "it is truncated: a plan's header has ", sizeof(header),
          " bytes, the file ", file->size());
  std::memcpy(&header, file->data(), sizeof(header));
  Require(header.version == kPlanVersion, "it is a plan of version ", header.version,
          ", this library reads version ", kPlanVersion, Error::Remedy{"build it again"});
  Require(header.file_size == file->size(), "it is truncated or damaged: it has ", file->size(),
          " bytes where its header says ", header.file_size);
  Require(header.checksum ==
              ChecksumOf(header, file->data() + sizeof(header), file->size() - sizeof(header)),
          "it is damaged: its checksum is wrong");
  Require(header.description_size <= file->size() - sizeof(header) &&
              Aligned(sizeof(header) + header.description_size) <= file->size(),
          "it is damaged: its description is larger than the file");
  Reader reader(file, header.description_size);
  const std::string target = TargetIn(reader.Text());
  Plan plan;
  plan.tuned_threads = reader.Int();
  Require(plan.tuned_threads >= 0, "its number of threads is negative");
  plan.graphs.resize(reader.Count(64));
  Require(!plan.graphs.empty(), "it holds no graph");
  for (Graph& graph : plan.graphs) {
    graph = ReadGraph(&reader);
    graph.target = target;
  }
  Require(reader.AtEnd(), "there is something behind its description");
  return plan;
}

}  // namespace

std::string PlanFingerprint(const std::string& target) {
  if (!target.empty()) {
    return Join("Cortado ", Version(), " (", kGpu + cuda::GpuFingerprint(), ")");
  }
  const kernels::InstructionSet set = kernels::CpuInstructionSet();
  std::string name = kernels::Name(set);
  // Layers that AMX tiles do not compute are packed for the machine's vectors.
  if (set.has_tiles()) {
    name += Join(" on ", kernels::Name(kernels::VectorInstructionSet()));
  }
  return Join("Cortado ", Version(), " (", name, ")");
}

uint64_t PlanChecksum(const void* bytes, size_t size, uint64_t sum) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15u;
  const uint8_t* at = static_cast<const uint8_t*>(bytes);
  uint64_t sums[4] = {sum + 1, sum ^ kOdd, sum + size, ~sum};
  const auto mix = [](uint64_t state, uint64_t word) {
    const uint64_t product = (state ^ word) * kOdd;
    return product ^ (product >> 32);
  };
  for (; size >= 32; size -= 32, at += 32) {
    uint64_t words[4];
    std::memcpy(words, at, 32);
    for (int i = 0; i < 4; ++i) sums[i] = mix(sums[i], words[i]);
  }
  for (; size > 0; --size, ++at) sums[0] = mix(sums[0], *at);
  for (int i = 1; i < 4; ++i) sums[0] = mix(sums[0], sums[i]);
  return sums[0];
}

void WritePlan(const Plan& plan, const std::string& file) {
  Require(!plan.graphs.empty(), "a plan holds a graph at least");
  Writer description;
  description.Text(PlanFingerprint(plan.graphs[0].target));
  description.Number(plan.tuned_threads);
  description.Number(static_cast<int64_t>(plan.graphs.size()));
  for (const Graph& graph : plan.graphs) Write(graph, &description);
  // What follows the header, in one piece: the checksum stands before it.
  std::string rest = description.bytes();
  const size_t begin = Aligned(sizeof(Header) + rest.size()) - sizeof(Header);
  rest.resize(begin + description.constants_size());
  size_t offset = begin;
  for (const Constant& constant : description.constants()) {
    std::memcpy(&rest[0] + offset, constant.data.get(), BytesOf(constant));
    offset += Aligned(BytesOf(constant));
  }
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kPlanVersion;
  header.file_size = sizeof(header) + rest.size();
  header.description_size = description.bytes().size();
  header.checksum = ChecksumOf(header, reinterpret_cast<const uint8_t*>(rest.data()), rest.size());
  AtomicFile out(file);
  out.Write(&header, sizeof(header));
  out.Write(rest.data(), rest.size());
  out.Commit();
}

Plan ReadPlan(const std::string& file) {
  return WithFile(file, [&] { return ReadMapped(std::make_shared<const MappedFile>(file)); });
}

}  // namespace caffe::inference
