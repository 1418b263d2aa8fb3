#ifndef CAFFE_INFERENCE_TIMING_CACHE_HPP_
#define CAFFE_INFERENCE_TIMING_CACHE_HPP_

#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace caffe::inference {

/// What ways of computing a layer took on a machine. With it the next build needs no timing, and
/// chooses the same. A key names the implementation, types, layouts and shapes; times of another
/// processor, number of threads or version of the library are of no use: their keys differ.
///
/// The file is text: a line "cortado timing cache 1", then lines "MICROSECONDS KEY".
class TimingCache {
 public:
  TimingCache() = default;
  /// The times in a file; none if there is no such file. Throws Error with file and line.
  explicit TimingCache(const std::string& file);

  std::optional<double> Find(const std::string& key) const;
  /// Throws Error unless the key is one line and the time a number that is not negative.
  void Set(const std::string& key, double microseconds);
  size_t size() const;
  /// Writes all that is known, aside and then renamed. Throws Error.
  void Write(const std::string& file) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, double> times_;
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_TIMING_CACHE_HPP_
