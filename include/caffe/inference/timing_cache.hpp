#ifndef CAFFE_INFERENCE_TIMING_CACHE_HPP_
#define CAFFE_INFERENCE_TIMING_CACHE_HPP_

#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace caffe::inference {

/// Measured times of implementations. With it the next build needs no timing and makes the same
/// choices. A key names the implementation, types, layouts and shapes, the processor, the number of
/// threads and the version of the library, so that other times are not used.
///
/// The file is text: a line "cortado timing cache 1", then lines "MICROSECONDS KEY".
class TimingCache {
 public:
  TimingCache() = default;
  /// Reads a file; empty if it does not exist. Throws Error with file and line.
  explicit TimingCache(const std::string& file);

  std::optional<double> Find(const std::string& key) const;
  /// Throws Error unless the key is one line and the time is not negative.
  void Set(const std::string& key, double microseconds);
  size_t size() const;
  /// Writes a temporary file, which is then renamed. Throws Error.
  void Write(const std::string& file) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, double> times_;
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_TIMING_CACHE_HPP_
