#ifndef CAFFE_ERROR_HPP_
#define CAFFE_ERROR_HPP_

#include <sstream>
#include <stdexcept>
#include <string>

namespace caffe {

/// What a bad file, field, shape or flag is answered with. The message names the file, the layer
/// and the field, and says what would be right. Code that knows more than the place where the
/// error arose adds it while the exception passes:
///
///     try { layer.SetUp(bottom, top); }
///     catch (Error& error) { error.AddContext("layer 'conv1' (Convolution)"); throw; }
///
/// Errors cross threads as std::exception_ptr. CHECK is kept for the program's own invariants.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message), message_(message) {}

  /// Puts "context: " in front of the message.
  void AddContext(const std::string& context) { message_ = context + ": " + message_; }

  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

/// The parts written one after another, as operator<< writes them.
template <typename... Parts>
std::string Join(const Parts&... parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

/// Throws Error(Join(parts...)).
template <typename... Parts>
[[noreturn]] void Fail(const Parts&... parts) {
  throw Error(Join(parts...));
}

/// Throws Error(Join(parts...)) unless `condition` holds. Meant for what comes from outside.
template <typename... Parts>
void Require(bool condition, const Parts&... parts) {
  if (!condition) Fail(parts...);
}

}  // namespace caffe

#endif  // CAFFE_ERROR_HPP_
