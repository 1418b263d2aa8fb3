#include "caffe/io/text_fields.hpp"

#include <algorithm>
#include <cstring>

namespace caffe {

namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// Walks through a text that is known to be well formed; whatever it meets, it ends.
class Scanner {
 public:
  explicit Scanner(const std::string& text) : text_(text) {}

  /// Fields up to a closing bracket or the end.
  std::vector<TextField> Fields() {
    std::vector<TextField> fields;
    for (SkipSpace(); at_ < text_.size() && !At("}>"); SkipSpace()) fields.push_back(Field());
    return fields;
  }

 private:
  bool At(const char* any) const {
    return at_ < text_.size() && std::strchr(any, text_[at_]) != nullptr;
  }

  void SkipSpace() {
    while (at_ < text_.size() && (IsBlank(text_[at_]) || text_[at_] == '\n' || text_[at_] == '#')) {
      at_ = text_[at_] == '#' ? std::min(text_.find('\n', at_), text_.size()) : at_ + 1;
    }
  }

  TextField Field() {
    TextField field;
    field.begin = at_;
    while (at_ < text_.size() && !At(" \t\r\n:{<#")) ++at_;
    field.name = text_.substr(field.begin, at_ - field.begin);
    SkipSpace();
    if (At(":")) ++at_;
    SkipSpace();
    field.is_block = At("{<");
    if (field.is_block) {
      field.value_begin = ++at_;
      field.fields = Fields();
      field.value_end = at_;
      at_ = std::min(at_ + 1, text_.size());
    } else {
      field.value_begin = at_;
      Value();
      field.value_end = at_;
    }
    size_t next = at_;
    while (next < text_.size() && IsBlank(text_[next])) ++next;
    if (next < text_.size() && (text_[next] == ',' || text_[next] == ';')) at_ = next + 1;
    field.end = std::max(at_, field.begin + 1);
    at_ = field.end;
    return field;
  }

  /// A list, a string (or several that belong together), or a number or word.
  void Value() {
    if (At("[")) return List();
    if (!At("\"'")) {
      while (at_ < text_.size() && !At(" \t\r\n,;}>#")) ++at_;
      return;
    }
    for (size_t end = at_; At("\"'"); SkipSpace()) {
      String();
      end = at_;
      SkipSpace();
      if (At("\"'")) continue;
      at_ = end;
      return;
    }
  }

  void String() {
    const char quote = text_[at_++];
    while (at_ < text_.size() && text_[at_] != quote) at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, text_.size());
  }

  void List() {
    int depth = 0;
    do {
      if (At("\"'")) {
        String();
      } else if (At("#")) {
        SkipSpace();
      } else {
        depth += At("[") - At("]");
        ++at_;
      }
    } while (depth > 0 && at_ < text_.size());
    at_ = std::min(at_, text_.size());
  }

  const std::string& text_;
  size_t at_ = 0;
};

}  // namespace

std::vector<TextField> ScanTextFields(const std::string& text) { return Scanner(text).Fields(); }

std::vector<const TextField*> FieldsNamed(const std::vector<TextField>& fields,
                                          const std::string& name) {
  std::vector<const TextField*> found;
  for (const TextField& field : fields) {
    if (field.name == name) found.push_back(&field);
  }
  return found;
}

size_t TextEdits::LineBegin(size_t at) const {
  while (at > 0 && text_[at - 1] != '\n') --at;
  return at;
}

size_t TextEdits::SkipBlanks(size_t at) const {
  while (at < text_.size() && IsBlank(text_[at])) ++at;
  return at;
}

void TextEdits::Replace(size_t begin, size_t end, const std::string& what) {
  edits_.push_back({begin, end, what});
}

void TextEdits::Remove(const TextField& field) {
  const size_t line = LineBegin(field.begin);
  const size_t next = SkipBlanks(field.end);
  const bool ends_line = next == text_.size() || text_[next] == '\n';
  if (SkipBlanks(line) == field.begin && ends_line) {
    Replace(line, std::min(next + 1, text_.size()), "");
  } else {
    Replace(field.begin, ends_line ? field.end : next, "");
  }
}

void TextEdits::InsertFirst(const TextField& block, const std::string& field) {
  if (!block.fields.empty()) {
    const size_t first = block.fields[0].begin;
    const size_t line = LineBegin(first);
    if (SkipBlanks(line) == first) {
      return Insert(line, text_.substr(line, first - line) + field + "\n");
    }
  }
  Insert(block.value_begin, " " + field);
}

void TextEdits::InsertAtHead(const std::vector<TextField>& fields, const std::string& lines) {
  if (fields.empty()) return Insert(text_.size(), lines);
  const TextField& first = fields[0];
  const size_t next = SkipBlanks(first.end);
  const bool ends_line = next == text_.size() || text_[next] == '\n' || text_[next] == '#';
  if (first.name == "name" && ends_line) {
    const size_t newline = text_.find('\n', next);
    if (newline == std::string::npos) return Insert(text_.size(), "\n" + lines);
    return Insert(newline + 1, lines);
  }
  const size_t line = LineBegin(first.begin);
  Insert(SkipBlanks(line) == first.begin ? line : first.begin, lines);
}

std::string TextEdits::Apply() const {
  std::vector<Edit> edits = edits_;
  std::stable_sort(edits.begin(), edits.end(),
                   // What is inserted where something is removed comes first.
                   [](const Edit& a, const Edit& b) {
                     return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
                   });
  std::string result;
  size_t at = 0;
  for (const Edit& edit : edits) {
    if (edit.begin < at) continue;  // in what was removed
    result.append(text_, at, edit.begin - at);
    result += edit.what;
    at = edit.end;
  }
  return result.append(text_, at);
}

}  // namespace caffe
