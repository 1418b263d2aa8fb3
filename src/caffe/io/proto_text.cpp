#include "caffe/io/proto_text.hpp"

#include <glog/logging.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <utility>
#include <vector>

#include "caffe/core/limits.hpp"
#include "caffe/error.hpp"
#include "caffe/io/atomic_file.hpp"
#include "caffe/io/mapped_file.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/text/edit_distance.hpp"
#include "caffe/util/text/listed.hpp"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"

namespace caffe {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;

constexpr int kSuggestions = 3;

std::atomic<bool> ignore_unknown{false};

/// The few of `names` that look most like `wanted`.
std::string Nearest(const std::string& wanted, const std::vector<std::string>& names) {
  return Listed(RankedNames(wanted, names, kSuggestions));
}

/// The parts of a parser's message that stand in quotation marks.
std::vector<std::string> Quoted(const std::string& message) {
  std::vector<std::string> parts;
  size_t begin = message.find('"');
  while (begin != std::string::npos) {
    const size_t end = message.find('"', begin + 1);
    if (end == std::string::npos) break;
    parts.push_back(message.substr(begin + 1, end - begin - 1));
    begin = message.find('"', end + 1);
  }
  return parts;
}

bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

/// The fields of `descriptor` whose messages have a field `name`: where it may have been meant.
std::vector<std::string> Holders(const Descriptor* descriptor, const std::string& name) {
  std::vector<std::string> holders;
  for (int i = 0; i < descriptor->field_count() && holders.size() < kSuggestions; ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    if (field->message_type() && field->message_type()->FindFieldByName(name)) {
      holders.emplace_back(field->name());
    }
  }
  return holders;
}

std::string SuggestFields(const FileDescriptor* schema, const std::string& message_name,
                          const std::string& field) {
  const Descriptor* descriptor = schema->pool()->FindMessageTypeByName(message_name);
  if (!descriptor || descriptor->field_count() == 0) return "";
  std::vector<std::string> names;
  for (int i = 0; i < descriptor->field_count(); ++i) {
    names.emplace_back(descriptor->field(i)->name());
  }
  std::string text =
      Join("; the nearest fields of ", descriptor->name(), " are ", Nearest(field, names));
  const std::vector<std::string> holders = Holders(descriptor, field);
  if (!holders.empty()) text += "; there is a " + field + " in " + Listed(holders);
  const bool is_of_own_layer = field.size() > 6 && field.substr(field.size() - 6) == "_param";
  if (descriptor->name() == "LayerParameter" && is_of_own_layer) {
    text +=
        "; a layer of your own takes its parameters from a message that there is, such as "
        "python_param { param_str: '...' }; -ignore_unknown_fields skips the field";
  }
  for (const char* other : {"NetParameter", "SolverParameter"}) {
    const Descriptor* root = schema->FindMessageTypeByName(other);
    const bool is_root =
        descriptor->name() == "NetParameter" || descriptor->name() == "SolverParameter";
    if (is_root && root && root != descriptor && root->FindFieldByName(field)) {
      text += Join("; ", field, " is a field of ", other, ": is this the wrong file?");
    }
  }
  return text;
}

/// True for a field that says what is computed in: of the schema's Type, which stored blobs use
/// too, such fields take three, and BFLOAT16 for math.
bool IsComputedType(const FieldDescriptor& field) {
  return field.enum_type()->full_name() == "caffe.Type" &&
         field.containing_type()->name() != "BlobProto";
}

/// The messages that a field called `block` may hold; for "" the `root`.
std::vector<const Descriptor*> MessagesIn(const Descriptor* root, const std::string& block) {
  if (block.empty()) return {root};
  std::vector<const Descriptor*> messages;
  const FileDescriptor* schema = root->file();
  for (int i = 0; i < schema->message_type_count(); ++i) {
    const FieldDescriptor* field = schema->message_type(i)->FindFieldByName(block);
    if (field && field->message_type()) messages.push_back(field->message_type());
  }
  return messages;
}

/// For a field in the braces behind the name `block`; "": in none.
std::string SuggestValues(const Descriptor* root, const std::string& block,
                          const std::string& value, const std::string& field) {
  std::vector<std::string> names;
  for (const Descriptor* message : MessagesIn(root, block)) {
    const FieldDescriptor* found = message->FindFieldByName(field);
    if (!found || found->type() != FieldDescriptor::TYPE_ENUM) continue;
    if (IsComputedType(*found)) {
      const bool is_math = field.find("math") != std::string::npos;
      return is_math ? "; it may be FLOAT, FLOAT16, BFLOAT16, DOUBLE"
                     : "; it may be FLOAT, FLOAT16, DOUBLE";
    }
    const EnumDescriptor* type = found->enum_type();
    for (int j = 0; j < type->value_count(); ++j) names.emplace_back(type->value(j)->name());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.empty()) return "";
  constexpr size_t kShowAll = 8;
  return names.size() <= kShowAll ? "; it may be " + Listed(names)
                                  : "; the nearest values are " + Nearest(value, names);
}

/// Where a block was opened.
struct OpenBlock {
  int line;
  size_t line_begin, brace;
};

/// The blocks that are not closed, the innermost last.
std::vector<OpenBlock> OpenBlocks(const std::string& text) {
  std::vector<OpenBlock> open;
  int line = 1;
  size_t line_begin = 0;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      ++line;
      line_begin = i + 1;
      quote = 0;
    } else if (quote) {
      if (c == '\\') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (c == '{' || c == '<') {
      open.push_back({line, line_begin, i});
    } else if ((c == '}' || c == '>') && !open.empty()) {
      open.pop_back();
    }
  }
  return open;
}

/// Where the innermost block that is not closed was opened: "line: text", or "".
std::string FindOpenBlock(const std::string& text) {
  const std::vector<OpenBlock> open = OpenBlocks(text);
  if (open.empty()) return "";
  const size_t begin = text.find_first_not_of(" \t", open.back().line_begin);
  const size_t end = std::min(text.find('{', begin), text.find('\n', begin));
  return Join(open.back().line, " ('", text.substr(begin, end - begin), "{')");
}

/// What stands in front of a line and column of protobuf's, which start at 0.
std::string TextBefore(const std::string& text, int line, int column) {
  constexpr int kTab = 8;
  size_t at = 0;
  for (; line > 0 && at < text.size(); ++at) line -= text[at] == '\n';
  for (int passed = 0; passed < column && at < text.size(); ++at) {
    passed += text[at] == '\t' ? kTab - passed % kTab : 1;
  }
  return text.substr(0, at);
}

/// The name at the end of a text, or "".
std::string LastName(const std::string& text) {
  const size_t end = text.find_last_not_of(" \t") + 1;  // 0 where there is nothing else
  size_t begin = end;
  while (begin > 0 &&
         (std::isalnum(static_cast<unsigned char>(text[begin - 1])) || text[begin - 1] == '_')) {
    --begin;
  }
  return text.substr(begin, end - begin);
}

/// The name in front of the colon that a value behind `before` belongs to, or "".
std::string FieldBefore(const std::string& before) {
  const size_t colon = before.find_last_not_of(" \t\r\n[");
  if (colon == std::string::npos || before[colon] != ':') return "";
  return LastName(before.substr(0, colon));
}

/// The name of the block that what is behind `before` stands in; "" outside of all.
std::string BlockAround(const std::string& before) {
  const std::vector<OpenBlock> open = OpenBlocks(before);
  if (open.empty()) return "";
  const std::string head = before.substr(0, open.back().brace);
  const size_t end = head.find_last_not_of(" \t\r\n:");
  return end == std::string::npos ? "" : LastName(head.substr(0, end + 1));
}

/// The field that the parser's `message` names, or "".
std::string FieldIn(const std::string& message) {
  const std::vector<std::string> quoted = Quoted(message);
  const bool names_it =
      Contains(message, "has no field named") || Contains(message, "Unknown enumeration value");
  if (names_it && quoted.size() == 2) return quoted[1];
  if (Contains(message, "specified multiple times") && !quoted.empty()) return quoted[0];
  return "";
}

/// The remedy for the parser's `message` about a text of a `root` and the place behind `before`.
std::string RemedyFor(const Descriptor* root, const std::string& message, const std::string& text,
                      const std::string& before) {
  const std::vector<std::string> quoted = Quoted(message);
  if (Contains(message, "has no field named") && quoted.size() == 2) {
    return SuggestFields(root->file(), quoted[0], quoted[1]);
  }
  if (Contains(message, "Unknown enumeration value") && quoted.size() == 2) {
    return SuggestValues(root, BlockAround(before), quoted[0], quoted[1]);
  }
  if (Contains(message, "specified multiple times")) return "; remove all but one";
  if (Contains(message, "Expected integer or identifier") ||
      (Contains(message, "Expected identifier, got: \""))) {
    return "; write the name without quotation marks (in old 'layers' blocks types are written "
           "CONVOLUTION, in 'layer' blocks \"Convolution\")";
  }
  if (Contains(message, "Expected string, got:")) {
    return "; put it in quotation marks (in 'layer' blocks types are written \"Convolution\", in "
           "old 'layers' blocks CONVOLUTION)";
  }
  if (Contains(message, "Expected integer, got: [")) return "; this field takes a single number";
  const std::string open = FindOpenBlock(text);
  if (!open.empty()) return "; the block opened in line " + open + " is not closed";
  if (Contains(message, "got: }")) return "; there is one '}' too many";
  return "";
}

/// Keeps the first error and logs the warnings. Lines and columns of protobuf start at 0.
class Collector : public google::protobuf::io::ErrorCollector {
 public:
  explicit Collector(const std::string& origin) : origin_(origin) {}

#if GOOGLE_PROTOBUF_VERSION >= 4022000
  void RecordError(int line, int column, absl::string_view message) override {
    Note(line, column, std::string(message));
  }
  void RecordWarning(int line, int column, absl::string_view message) override {
    LOG(WARNING) << Place(line, column) << std::string(message);
  }
#else
  void AddError(int line, int column, const std::string& message) override {
    Note(line, column, message);
  }
  void AddWarning(int line, int column, const std::string& message) override {
    LOG(WARNING) << Place(line, column) << message;
  }
#endif

  const std::string& message() const { return message_; }
  const std::string& place() const { return place_; }
  int line() const { return line_; }
  int column() const { return column_; }

 private:
  std::string Place(int line, int column) const {
    return line < 0 ? origin_ + ": " : Join(origin_, ":", line + 1, ":", column + 1, ": ");
  }
  void Note(int line, int column, const std::string& message) {
    if (!message_.empty()) return;
    place_ = Place(line, column);
    line_ = line;
    column_ = column;
    message_ = message;
  }

  const std::string& origin_;
  int line_ = -1, column_ = -1;
  std::string place_;
  std::string message_;
};

}  // namespace

void set_ignore_unknown_fields(bool ignore) { ignore_unknown = ignore; }
bool ignore_unknown_fields() { return ignore_unknown; }

void ParseProtoText(const std::string& text, const std::string& origin,
                    google::protobuf::Message* message) {
  Collector collector(origin);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  parser.AllowUnknownField(ignore_unknown_fields());
  parser.SetRecursionLimit(limits::MessageDepth());
  if (parser.ParseFromString(text, message)) return;
  std::string what = collector.message();
  if (what.empty()) what = Join("this is not text of a ", message->GetDescriptor()->name());
  if (what.back() == '.') what.pop_back();
  const std::string before =
      collector.line() < 0 ? "" : TextBefore(text, collector.line(), collector.column());
  const std::string remedy = RemedyFor(message->GetDescriptor(), what, text, before);
  Error error(Join(collector.place().empty() ? origin + ": " : collector.place(), what, remedy));
  std::string field = FieldIn(what);
  if (field.empty()) field = FieldBefore(before);
  error.Note(Error::Field{field});
  constexpr size_t kSemicolon = 2;
  if (!remedy.empty()) error.Note(Error::Remedy{remedy.substr(kSemicolon)});
  throw error;
}

void ReadProtoText(const std::string& name, google::protobuf::Message* message) {
  const MappedFile file(name);
  limits::Check(limits::kReadBytes, file.size(), Error::File{name}, ": the text");
  const std::string why_no_text = WhyNoText(file);
  Require(why_no_text.empty(), Error::File{name},
          ": a text file (prototxt) is needed, and this one is not: ", why_no_text,
          "; a caffemodel, a solverstate or a mean file goes where weights are asked for");
  const std::string seen = DescribeContents(file.data(), file.size());
  Require(seen == "text", Error::File{name}, ": a prototxt is needed, and this is ", seen);
  std::string text(reinterpret_cast<const char*>(file.data()), file.size());
  constexpr char kByteOrderMark[] = "\xef\xbb\xbf";
  if (text.compare(0, 3, kByteOrderMark) == 0) text.replace(0, 3, "   ");
  try {
    ParseProtoText(text, name, message);
  } catch (Error& error) {
    error.Note(Error::File{name});  // its message begins with it
    throw;
  }
}

void WriteProtoText(const google::protobuf::Message& message, const std::string& name) {
  std::string text;
  Require(google::protobuf::TextFormat::PrintToString(message, &text), Error::File{name},
          ": the message cannot be printed");
  AtomicFile file(name);
  file.Write(text.data(), text.size());
  file.Commit();
}

}  // namespace caffe
