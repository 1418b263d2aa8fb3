#include "caffe/core/limits.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/text/edit_distance.hpp"
#include "caffe/util/text/split.hpp"

namespace caffe {
namespace {

constexpr uint64_t kMiB = uint64_t(1) << 20, kGiB = uint64_t(1) << 30;

bool IsInBytes(const LimitField& field) {
  return field.name.size() > 6 && field.name.compare(field.name.size() - 6, 6, "_bytes") == 0;
}

/// "5 GiB", rounded up: a limit of that much would do.
std::string SizeText(uint64_t bytes) {
  constexpr std::pair<const char*, int> kUnits[] = {{"TiB", 40}, {"GiB", 30}, {"MiB", 20}};
  for (const auto& [unit, bits] : kUnits) {
    if (bytes >= uint64_t(1) << bits) return Join(((bytes - 1) >> bits) + 1, " ", unit);
  }
  return Join(bytes, " bytes");
}

std::string Amount(const LimitField& field, uint64_t amount) {
  if (amount == std::numeric_limits<uint64_t>::max()) return "more than 2^64";
  return IsInBytes(field) ? SizeText(amount) : std::to_string(amount);
}

uint64_t ParseNumber(const LimitField& field, const std::string& text) {
  size_t digits = 0;
  while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits]))) ++digits;
  const std::string unit = text.substr(digits);
  const char* const kUnits[] = {"", "KiB", "MiB", "GiB", "TiB"};
  const auto known = std::find(std::begin(kUnits), std::end(kUnits), unit);
  // 15 digits and a unit may be more than 64 bits have.
  const bool valid =
      digits > 0 && digits <= 15 && known != std::end(kUnits) && (unit.empty() || IsInBytes(field));
  const int bits = valid ? static_cast<int>(known - std::begin(kUnits)) * 10 : 0;
  const uint64_t number = valid ? std::stoull(text.substr(0, digits)) : 0;
  Require(valid && number > 0 && number <= std::numeric_limits<uint64_t>::max() >> bits, "limit ",
          field.name, "=", text, ": ", IsInBytes(field) ? "a size like 512MiB or 4GiB" : "a number",
          " above 0 is needed");
  return number << bits;
}

bool ParseFlag(const LimitField& field, const std::string& text) {
  Require(text == "true" || text == "false", "limit ", field.name, "=", text,
          ": valid are true and false");
  return text == "true";
}

const LimitField& FieldNamed(const std::string& name) {
  std::vector<std::string> names = {"untrusted"};
  for (const LimitField& field : LimitFields()) {
    if (field.name == name) return field;
    names.push_back(field.name);
  }
  Fail("there is no limit '", name, "'", DidYouMean(name, names),
       Error::Remedy{
           Join("valid are untrusted, blob_bytes=N, net_bytes=N, layers=N, axes=N, nesting=N, "
                "read_bytes=N, "
                "record_bytes=N, image_pixels=N, python_layers=false and layer_files=false")});
}

}  // namespace

const std::vector<LimitField>& LimitFields() {
  static const std::vector<LimitField> fields = {
      {"blob_bytes", "bytes of a blob", &Limits::blob_bytes},
      {"net_bytes", "bytes of all blobs of a net", &Limits::net_bytes},
      {"layers", "layers of a net", &Limits::layers},
      {"axes", "axes of a blob", &Limits::axes},
      {"nesting", "messages or groups within one another", &Limits::nesting},
      {"read_bytes", "bytes of a text file or pipe", &Limits::read_bytes},
      {"record_bytes", "bytes of a database's record or an encoded image", &Limits::record_bytes},
      {"image_pixels", "pixels of an image", &Limits::image_pixels},
      {"python_layers", "nets may run Python layers", nullptr, &Limits::python_layers},
      {"layer_files", "layers may read and write files", nullptr, &Limits::layer_files}};
  return fields;
}

Limits Limits::Untrusted() {
  Limits limits;
  limits.blob_bytes = kGiB;
  limits.net_bytes = 4 * kGiB;
  limits.layers = 2000;
  limits.nesting = 32;
  limits.read_bytes = limits.record_bytes = 64 * kMiB;
  limits.image_pixels = uint64_t(1) << 26;
  limits.python_layers = limits.layer_files = false;
  return limits;
}

Limits Limits::With(const std::string& list) const {
  Limits limits = *this;
  for (const std::string& part : SplitAtCommas(list)) {
    const size_t equals = part.find('=');
    if (part == "untrusted") {
      limits = Untrusted();
      continue;
    }
    const LimitField& field = FieldNamed(part.substr(0, equals));
    const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
    if (field.number) {
      limits.*field.number = ParseNumber(field, value);
    } else {
      limits.*field.flag = ParseFlag(field, value);
    }
  }
  return limits;
}

Limits Caffe::limits() { return limits::Current(); }
void Caffe::set_limits(const Limits& limits) { limits::Set(limits); }

namespace limits {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr size_t kNumbers = kImagePixels + 1;

/// What holds: each value by itself may be read while another thread sets them.
struct State {
  State() { Write(Limits()); }
  void Write(const Limits& limits) {
    for (size_t i = 0; i < kNumbers; ++i) numbers[i] = limits.*LimitFields()[i].number;
    python_layers = limits.python_layers;
    layer_files = limits.layer_files;
  }
  std::array<std::atomic<uint64_t>, kNumbers> numbers;
  std::atomic<bool> python_layers{true}, layer_files{true};
};

State& TheState() {
  static State state;
  return state;
}

thread_local NetBytes* innermost = nullptr;

/// Fields of layers that name a file, a folder or a database, wherever they are.
bool NamesFile(const FieldDescriptor& field) {
  static const std::set<std::string> names = {
      "file",         "file_name",        "mean_file", "meanfile",   "source",
      "root_folder",  "label_map_file",   "save_file", "video_file", "name_size_file",
      "softmax_tree", "output_directory", "class_map"};
  return field.cpp_type() == FieldDescriptor::CPPTYPE_STRING && names.count(field.name()) > 0;
}

/// The path of a field that names a file, "data_param.source", or "".
std::string FieldOfFile(const Message& message) {
  const auto* saved = dynamic_cast<const SaveOutputParameter*>(&message);
  if (saved && saved->output_directory().empty()) return "";  // then nothing is read, either
  std::vector<const FieldDescriptor*> fields;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (NamesFile(*field)) return field->name();
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const Message& inner = field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                                  : reflection.GetMessage(message, field);
      const std::string found = FieldOfFile(inner);
      if (!found.empty()) return field->name() + "." + found;
    }
  }
  return "";
}

}  // namespace

Limits Current() {
  Limits limits;
  for (size_t i = 0; i < kNumbers; ++i) {
    limits.*LimitFields()[i].number = TheState().numbers[i].load(std::memory_order_relaxed);
  }
  limits.python_layers = PythonLayersAllowed();
  limits.layer_files = LayerFilesAllowed();
  return limits;
}

void Set(const Limits& limits) {
  for (size_t i = 0; i < kNumbers; ++i) {
    const LimitField& field = LimitFields()[i];
    Require(limits.*field.number > 0, "limit ", field.name, " must be above 0");
  }
  TheState().Write(limits);
}

uint64_t Of(Limit limit) { return TheState().numbers[limit].load(std::memory_order_relaxed); }
int MessageDepth() {
  constexpr uint64_t kMost = 1000;
  return static_cast<int>(std::min(Of(kNesting), kMost));
}
bool PythonLayersAllowed() { return TheState().python_layers; }
bool LayerFilesAllowed() { return TheState().layer_files; }

uint64_t Product(std::initializer_list<uint64_t> factors) {
  uint64_t product = 1;
  if (std::find(factors.begin(), factors.end(), 0u) != factors.end()) return 0;
  for (const uint64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) {
      return std::numeric_limits<uint64_t>::max();
    }
  }
  return product;
}

std::string Excess(Limit limit, uint64_t asked) {
  const LimitField& field = LimitFields()[limit];
  return Join(" asks for ", Amount(field, asked), ", and the limit (", field.name, ") is ",
              Amount(field, Of(limit)));
}

Error::Remedy RaisedBy(Limit limit) {
  const std::string& name = LimitFields()[limit].name;
  return {Join("if that is meant, raise it: -limits ", name, "=N, caffe.set_limits(", name,
               "=N), Caffe::set_limits")};
}

void CheckImage(int64_t height, int64_t width, const std::string& what) {
  Require(height > 0 && width > 0, what, ": there is no image of ", height, " x ", width,
          " pixels");
  Check(kImagePixels, Product({static_cast<uint64_t>(height), static_cast<uint64_t>(width)}), what,
        ": an image of ", height, " x ", width, " pixels");
}

void CheckTextFile(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  const fs::file_type type = fs::status(file, unknown).type();
  Require(type != fs::file_type::character && type != fs::file_type::block, Error::File{file},
          ": is a device, not a text file");
  Require(type != fs::file_type::directory, Error::File{file}, ": is a folder, not a file");
  if (type != fs::file_type::regular) return;
  const uintmax_t size = fs::file_size(file, unknown);
  if (!unknown) Check(kReadBytes, size, Error::File{file}, ": the text");
}

void CheckAccess(const LayerParameter& layer) {
  Require(layer.type() != "Python" || PythonLayersAllowed(), Error::Field{"python_param"},
          " names code, the class ", layer.python_param().layer(), " of the module ",
          layer.python_param().module(), ", and the limit python_layers is false",
          Error::Remedy{"if the code is trusted: -limits python_layers=true, "
                        "caffe.set_limits(python_layers=True), Caffe::set_limits"});
  if (LayerFilesAllowed()) return;
  const bool camera = layer.type() == "VideoData";
  const std::string field = camera ? "video_data_param" : FieldOfFile(layer);
  Require(field.empty(), Error::Field{field},
          camera ? " names a camera or a file" : " names a file",
          ", and the limit layer_files is false",
          Error::Remedy{"if the net is trusted: -limits layer_files=true, "
                        "caffe.set_limits(layer_files=True), Caffe::set_limits"});
}

NetBytes::NetBytes(int copies) : outer_(innermost), copies_(copies) { innermost = this; }
NetBytes::~NetBytes() { innermost = outer_; }

void NetBytes::Add(uint64_t bytes) {
  for (NetBytes* net = innermost; net; net = net->outer_) {
    net->bytes_ += Product({bytes, net->copies_});
    Check(kNetBytes, net->bytes_, "the net");
  }
}

}  // namespace limits
}  // namespace caffe
