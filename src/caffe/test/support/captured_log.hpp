#ifndef CAFFE_TEST_CAPTURED_LOG_HPP_
#define CAFFE_TEST_CAPTURED_LOG_HPP_

#include <glog/logging.h>

#include <string>
#include <vector>

namespace caffe {

/// Collects what is logged while it lives, without the lines' prefixes; nothing goes to files.
class CapturedLog : public google::LogSink {
 public:
  CapturedLog() : level_(FLAGS_minloglevel), threshold_(FLAGS_stderrthreshold) {
    for (int severity = 0; severity < google::NUM_SEVERITIES; ++severity) {
      google::SetLogDestination(severity, "");
    }
    FLAGS_minloglevel = google::INFO;
    FLAGS_stderrthreshold = google::FATAL;
    google::AddLogSink(this);
  }
  ~CapturedLog() override {
    google::RemoveLogSink(this);
    FLAGS_minloglevel = level_;
    FLAGS_stderrthreshold = threshold_;
  }

  void send(google::LogSeverity, const char*, const char*, int, const struct ::tm*,
            const char* message, size_t size) override {
    lines_.emplace_back(message, size);
  }

  const std::vector<std::string>& lines() const { return lines_; }
  /// True if one of the lines is exactly `line`.
  bool Has(const std::string& line) const {
    for (const std::string& logged : lines_) {
      if (logged == line) return true;
    }
    return false;
  }
  /// True if one of the lines begins with `prefix`.
  bool HasPrefix(const std::string& prefix) const {
    for (const std::string& logged : lines_) {
      if (logged.compare(0, prefix.size(), prefix) == 0) return true;
    }
    return false;
  }

 private:
  const int level_;
  const int threshold_;
  std::vector<std::string> lines_;
};

}  // namespace caffe

#endif  // CAFFE_TEST_CAPTURED_LOG_HPP_
