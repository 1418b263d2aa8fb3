// The text form of a CalibrationTable.
#include <algorithm>

#include "caffe/core/error_context.hpp"
#include "caffe/inference/calibration_table.hpp"
#include "caffe/io/atomic_file.hpp"
#include "caffe/util/string_stream.hpp"
#include "caffe/util/text_file.hpp"
#include "text_numbers.hpp"

namespace caffe {
namespace {

const char kHeader[] = "cortado calibration table 1";
const char kAnyHeader[] = "cortado calibration table ";
const char kActivations[] = "activations:";
const char kWeightScales[] = "weight scales:";
const char kChannelRanges[] = "channel ranges:";
const char kChannelMeans[] = "channel means:";

// ------------------------------------------------------------------ writing

std::string Quoted(const std::string& name) {
  static const char kDigits[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (char c : name) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (byte < 32 || byte == 127) {
      quoted += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string Padded(const std::string& text, size_t width) {
  return text + std::string(width > text.size() ? width - text.size() : 0, ' ');
}

/// A section with numbers behind each name.
void WriteLists(const char* section, const std::map<std::string, std::vector<float>>& lists,
                std::ostream* out) {
  if (!lists.empty()) *out << '\n' << section << '\n';
  for (const auto& [name, numbers] : lists) {
    *out << Quoted(name);
    for (const float number : numbers) *out << ' ' << ShortestText(number);
    *out << '\n';
  }
}

// ------------------------------------------------------------------ reading

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// The words of a line: what is separated by spaces, and a name in quotes as one word.
class Words {
 public:
  explicit Words(const std::string& line) : line_(line) {}

  /// False at the end of the line or in front of a comment.
  bool More() {
    next_ = std::min(line_.find_first_not_of(" \t\r", next_), line_.size());
    return next_ < line_.size() && line_[next_] != '#';
  }
  std::string Word(const char* what) {
    Require(More(), what, " is missing");
    const size_t end = std::min(line_.find_first_of(" \t\r#", next_), line_.size());
    const std::string word = line_.substr(next_, end - next_);
    next_ = end;
    return word;
  }
  std::string Name() {
    Require(More() && line_[next_] == '"', "a name in quotes is missing");
    std::string name;
    for (++next_; next_ < line_.size() && line_[next_] != '"'; ++next_) {
      name += line_[next_] == '\\' ? Escaped() : line_[next_];
    }
    Require(next_ < line_.size(), "the quote behind the name is missing");
    ++next_;
    return name;
  }
  void End() {
    if (More()) Fail("'", line_.substr(next_), "' is too much");
  }

 private:
  // At a backslash; leaves the last character that belongs to it.
  char Escaped() {
    const char c = ++next_ < line_.size() ? line_[next_] : ' ';
    if (c == 'n') return '\n';
    if (c == 't') return '\t';
    if (c == 'x') {
      Require(next_ + 2 < line_.size(), "\\x needs two hexadecimal digits");
      const int high = HexDigit(line_[next_ + 1]), low = HexDigit(line_[next_ + 2]);
      Require(high >= 0 && low >= 0, "\\x needs two hexadecimal digits");
      next_ += 2;
      return static_cast<char>(16 * high + low);
    }
    Require(c == '"' || c == '\\', "\\", c, " means nothing: valid are \\\" \\\\ \\n \\t \\xHH");
    return c;
  }

  const std::string line_;
  size_t next_ = 0;
};

class Parser {
 public:
  explicit Parser(const std::string& name) { table_.set_name(name); }

  void ParseLine(const std::string& line, int number) {
    if (number == 1) {
      Require(line.rfind(kAnyHeader, 0) == 0, "the file begins with '", line.substr(0, 40),
              "', not with '", kHeader, "'");
      Require(Trimmed(line) == kHeader, "this program reads version 1: '", kHeader, "'");
      return;
    }
    Words words(line);
    if (!words.More()) {
      if (section_.empty()) ParseComment(line);
      return;
    }
    const std::string trimmed = Trimmed(line);
    if (trimmed == kActivations || trimmed == kWeightScales || trimmed == kChannelRanges ||
        trimmed == kChannelMeans) {
      section_ = trimmed;
    } else if (section_.empty()) {
      ParseFact(&words);
    } else if (section_ == kActivations) {
      ParseActivation(&words);
    } else if (section_ == kWeightScales) {
      ParseWeightScales(&words);
    } else if (section_ == kChannelRanges) {
      ParseChannelRanges(&words);
    } else {
      ParseChannelMeans(&words);
    }
  }
  CalibrationTable table() const { return table_; }

 private:
  static std::string Trimmed(const std::string& line) {
    const std::string text = line.substr(0, line.find('#'));
    const size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
    return end == std::string::npos ? "" : text.substr(begin, end + 1 - begin);
  }

  void ParseComment(const std::string& line) {
    const size_t sign = line.find('#');
    if (sign == std::string::npos) return;
    const size_t begin = line.find_first_not_of(" \t\r", sign + 1);
    const size_t end = line.find_last_not_of(" \t\r");
    if (begin != std::string::npos) table_.AddComment(line.substr(begin, end + 1 - begin));
  }

  void ParseFact(Words* words) {
    const std::string key = words->Word("a field");
    NetFingerprint fingerprint = table_.fingerprint();
    if (key == "net:") {
      fingerprint.net = ParsedHex(words->Word("the net's hash"), 16, "net");
    } else if (key == "weights:") {
      fingerprint.weights = ParsedHex(words->Word("the weights' hash"), 16, "weights");
    } else if (key == "images:") {
      table_.set_images(ParsedNumber<int64_t>(words->Word("the number of images"), "images"));
      Require(table_.images() >= 0, "images: ", table_.images(), " is less than none");
    } else {
      Fail("'", key, "' is not known here: valid are net:, weights:, images:, ", kActivations, " ",
           kWeightScales, " ", kChannelRanges, " ", kChannelMeans);
    }
    table_.set_fingerprint(fingerprint);
    words->End();
  }

  void ParseActivation(Words* words) {
    const std::string blob = words->Name();
    Require(table_.Find(blob) == nullptr, "blob '", blob, "' is there twice");
    BlobCalibration calibration;
    calibration.threshold = ParsedNumber<double>(words->Word("the threshold"), "threshold");
    const std::string type = words->Word("the type, s8 or u8,");
    Require(type == "s8" || type == "u8", "type '", type, "': valid are s8 and u8");
    calibration.is_unsigned = type == "u8";
    if (words->More()) {
      calibration.minimum = ParsedNumber<double>(words->Word("the minimum"), "minimum");
      calibration.maximum = ParsedNumber<double>(words->Word("the maximum"), "maximum");
    }
    if (words->More()) calibration.method = words->Word("the method");
    words->End();
    table_.SetExactly(blob, calibration);
  }

  void ParseWeightScales(Words* words) {
    const std::string layer = words->Name();
    Require(table_.weight_scales().count(layer) == 0, "layer '", layer, "' is there twice");
    table_.SetWeightScales(layer, ParseNumbers(words, "weight scale"));
  }

  void ParseChannelRanges(Words* words) {
    const std::string blob = words->Name();
    Require(table_.channel_ranges().count(blob) == 0, "blob '", blob, "' is there twice");
    table_.SetChannelRanges(blob, ParseNumbers(words, "channel range"));
  }

  void ParseChannelMeans(Words* words) {
    const std::string blob = words->Name();
    Require(table_.channel_means().count(blob) == 0, "blob '", blob, "' is there twice");
    table_.SetChannelMeans(blob, ParseNumbers(words, "channel mean"));
  }

  static std::vector<float> ParseNumbers(Words* words, const char* what) {
    std::vector<float> numbers;
    while (words->More()) numbers.push_back(ParsedNumber<float>(words->Word(what), what));
    return numbers;
  }

  CalibrationTable table_;
  std::string section_;
};

}  // namespace

CalibrationTable CalibrationTable::Parse(const std::string& text, const std::string& name) {
  Parser parser(name);
  StringReader stream(text);
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    try {
      parser.ParseLine(line, number);
    } catch (Error& error) {
      AddFile(name, Join(", line ", number), &error);
      throw;
    }
  }
  Require(number > 0, Error::File{name}, ": the file is empty");
  return parser.table();
}

CalibrationTable CalibrationTable::Read(const std::string& file) {
  return Parse(ReadTextFile(file), file);
}

std::string CalibrationTable::Text() const {
  std::vector<std::vector<std::string>> rows = {
      {"# blob", "threshold", "type", "minimum", "maximum", "method"}};
  for (const std::string& blob : names_) {
    const BlobCalibration& calibration = blobs_.at(blob);
    rows.push_back({Quoted(blob), ShortestText(calibration.threshold),
                    calibration.is_unsigned ? "u8" : "s8", ShortestText(calibration.minimum),
                    ShortestText(calibration.maximum), calibration.method});
  }
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  StringWriter out;
  out << kHeader << '\n';
  if (fingerprint_.net != 0) out << "net: " << HexText(fingerprint_.net) << '\n';
  if (fingerprint_.weights != 0) out << "weights: " << HexText(fingerprint_.weights) << '\n';
  if (images_ > 0) out << "images: " << images_ << '\n';
  for (const std::string& comment : comments_) out << "# " << comment << '\n';
  out << '\n' << kActivations << '\n';
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i)
      line += (i == 0 ? "" : "  ") + Padded(row[i], widths[i]);
    out << line.substr(0, line.find_last_not_of(' ') + 1) << '\n';
  }
  WriteLists(kWeightScales, weight_scales_, &out);
  WriteLists(kChannelRanges, channel_ranges_, &out);
  WriteLists(kChannelMeans, channel_means_, &out);
  return out.str();
}

void CalibrationTable::Write(const std::string& file) const {
  const std::string text = Text();
  AtomicFile out(file);
  out.Write(text.data(), text.size());
  out.Commit();
}

}  // namespace caffe
