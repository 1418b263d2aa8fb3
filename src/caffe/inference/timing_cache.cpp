#include "caffe/inference/timing_cache.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <limits>

#include "caffe/error.hpp"
#include "caffe/io/atomic_file.hpp"
#include "caffe/util/string_stream.hpp"
#include "caffe/util/text_file.hpp"

namespace caffe::inference {
namespace {

const char kFirstLine[] = "cortado timing cache 1";

}  // namespace

TimingCache::TimingCache(const std::string& file) {
  if (!std::filesystem::exists(file)) return;
  std::ifstream in = OpenTextFile(file, "cannot be read");
  std::string line;
  std::getline(in, line);
  Require(line == kFirstLine, Error::File{file},
          ": it is no timing cache: its first line should be '", kFirstLine,
          "'. Remove it, the next build writes it again");
  for (int number = 2; std::getline(in, line); ++number) {
    StringReader words(line);
    double microseconds = 0;
    std::string key;
    Require(words >> microseconds && words.get() == ' ' && std::getline(words, key) &&
                !key.empty() && std::isfinite(microseconds) && microseconds >= 0,
            Error::File{file}, ": line ", number, " is not 'MICROSECONDS KEY': ", line);
    times_[key] = microseconds;
  }
}

std::optional<double> TimingCache::Find(const std::string& key) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = times_.find(key);
  if (known == times_.end()) return std::nullopt;
  return known->second;
}

void TimingCache::Set(const std::string& key, double microseconds) {
  Require(!key.empty() && key.find('\n') == std::string::npos,
          "a key of the timing cache is a line of text, not '", key, "'");
  Require(std::isfinite(microseconds) && microseconds >= 0, "timing cache: '", key, "' took ",
          microseconds, " microseconds?");
  const std::lock_guard<std::mutex> lock(mutex_);
  times_[key] = microseconds;
}

size_t TimingCache::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return times_.size();
}

void TimingCache::Write(const std::string& file) const {
  StringWriter text;
  // Every digit, so that the next build chooses the same of two that took nearly the same time.
  text << std::setprecision(std::numeric_limits<double>::max_digits10) << kFirstLine << '\n';
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [key, microseconds] : times_) text << microseconds << ' ' << key << '\n';
  }
  AtomicFile out(file);
  out.Write(text.str().data(), text.str().size());
  out.Commit();
}

}  // namespace caffe::inference
