#ifndef CAFFE_IO_TEXT_FIELDS_HPP_
#define CAFFE_IO_TEXT_FIELDS_HPP_

#include <cstddef>
#include <string>
#include <vector>

namespace caffe {

/// A field of a message in protobuf's text form and where it stands, for changing a file by hand so
/// that its comments and its layout stay.
struct TextField {
  std::string name;
  size_t begin = 0;  ///< of the name
  size_t end = 0;    ///< behind the value, and behind a ',' or ';' that follows it
  /// The place of the value: a number, word, string or list; or what stands between a block's
  /// brackets.
  size_t value_begin = 0;
  size_t value_end = 0;
  bool is_block = false;
  std::vector<TextField> fields;  ///< of a block, in the order of the text
};

/// The fields of a text that ParseProtoText has accepted.
std::vector<TextField> ScanTextFields(const std::string& text);

/// The fields of that name, in order.
std::vector<const TextField*> FieldsNamed(const std::vector<TextField>& fields,
                                          const std::string& name);

/// Changes to a text, collected by offsets into the old one and made at once. A change inside what
/// another one removes has no effect.
class TextEdits {
 public:
  explicit TextEdits(const std::string& text) : text_(text) {}

  void Insert(size_t at, const std::string& what) { Replace(at, at, what); }
  void Replace(size_t begin, size_t end, const std::string& what);
  /// Removes a field, with its line if nothing else is there.
  void Remove(const TextField& field);
  /// Writes a field in front of all others of a block, on a line of its own where they have one.
  void InsertFirst(const TextField& block, const std::string& field);
  /// Writes lines (each with its '\n') in front of the first field, or behind it if that is `name`.
  void InsertAtHead(const std::vector<TextField>& fields, const std::string& lines);

  std::string Apply() const;

 private:
  struct Edit {
    size_t begin, end;
    std::string what;
  };
  size_t LineBegin(size_t at) const;
  size_t SkipBlanks(size_t at) const;

  const std::string& text_;
  std::vector<Edit> edits_;
};

}  // namespace caffe

#endif  // CAFFE_IO_TEXT_FIELDS_HPP_
