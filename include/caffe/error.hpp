#ifndef CAFFE_ERROR_HPP_
#define CAFFE_ERROR_HPP_

#include "caffe/cpp17.hpp"

#include <stdexcept>
#include <string>

#include "caffe/util/string_stream.hpp"

namespace caffe {

/// What a bad file, field, shape or flag is answered with. The message names the file, the layer
/// and the field, and says what would be right; each of these can be asked for by itself, too. Code
/// that knows more than the place where the error arose adds it while the exception passes:
///
///     try { layer.SetUp(bottom, top); }
///     catch (Error& error) { error.AddLayer("conv1", "Convolution"); throw; }
///
/// Errors cross threads as std::exception_ptr. CHECK is kept for the program's own invariants.
class Error : public std::runtime_error {
 public:
  /// Parts of a message that Require and Fail take note of: the name of a file, of a layer, of a
  /// field or flag, and the last part, what to do, with ": " in front of it.
  ///
  ///     Require(pad >= 0, Error::Field{"convolution_param.pad"}, " is ", pad,
  ///             Error::Remedy{"give 0 or more"});
  struct File {
    std::string name;
  };
  struct Layer {
    std::string name;
  };
  struct Field {
    std::string name;
  };
  struct Remedy {
    std::string text;
  };

  explicit Error(const std::string& message) : std::runtime_error(message), message_(message) {}

  /// The file, the layer's name, the field (or flag) that it is about, and what to do: "" where
  /// nothing said so. The message has all of them.
  const std::string& file() const { return file_; }
  const std::string& layer() const { return layer_; }
  const std::string& field() const { return field_; }
  const std::string& remedy() const { return remedy_; }

  /// Puts "context: " in front of the message.
  void AddContext(const std::string& context) { message_ = context + ": " + message_; }
  /// Puts "file: " in front of the message; nothing where it names a file already.
  void AddFile(const std::string& file) {
    if (!file_.empty()) return;
    file_ = file;
    AddContext(file);
  }
  /// Puts "layer 'name' (type): " in front of the message; nothing where it names a layer already.
  void AddLayer(const std::string& name, const std::string& type) {
    if (names_layer_) return;
    Note(Layer{name});
    AddContext("layer '" + name + "' (" + type + ")");
  }
  /// What of the message is the file, the layer, the field, the remedy; any other part says
  /// nothing.
  void Note(const File& file) { file_ = file.name; }
  void Note(const Layer& layer) {
    layer_ = layer.name;
    names_layer_ = true;
  }
  void Note(const Field& field) { field_ = field.name; }
  void Note(const Remedy& remedy) { remedy_ = remedy.text; }
  template <typename Part>
  void Note(const Part& /*part*/) {}

  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_, file_, layer_, field_, remedy_;
  bool names_layer_ = false;  // whose name may be ""
};

inline std::ostream& operator<<(std::ostream& out, const Error::File& file) {
  return out << file.name;
}
inline std::ostream& operator<<(std::ostream& out, const Error::Layer& layer) {
  return out << layer.name;
}
inline std::ostream& operator<<(std::ostream& out, const Error::Field& field) {
  return out << field.name;
}
inline std::ostream& operator<<(std::ostream& out, const Error::Remedy& remedy) {
  return out << ": " << remedy.text;
}

/// The parts written one after another, as operator<< writes them.
template <typename... Parts>
std::string Join(const Parts&... parts) {
  StringWriter stream;
  (stream << ... << parts);
  return stream.str();
}

/// An Error with the message Join(parts...), and what File, Layer, Field and Remedy among the parts
/// say.
template <typename... Parts>
Error MakeError(const Parts&... parts) {
  Error error(Join(parts...));
  (error.Note(parts), ...);
  return error;
}

/// Throws MakeError(parts...).
template <typename... Parts>
[[noreturn]] void Fail(const Parts&... parts) {
  throw MakeError(parts...);
}

/// Throws MakeError(parts...) unless `condition` holds. Meant for what comes from outside.
template <typename... Parts>
void Require(bool condition, const Parts&... parts) {
  if (!condition) Fail(parts...);
}

}  // namespace caffe

#endif  // CAFFE_ERROR_HPP_
