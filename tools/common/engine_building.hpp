#ifndef CAFFE_TOOLS_COMMON_ENGINE_BUILDING_HPP_
#define CAFFE_TOOLS_COMMON_ENGINE_BUILDING_HPP_

#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "caffe/inference/builder.hpp"

// What programs that build engines have in common.

namespace caffe {

/// A net in FLOAT with its weights, in the state that `param` has.
std::unique_ptr<Net<float>> FloatNet(NetParameter param, const std::vector<std::string>& weights);

/// Bytes of a flag that gives 2^20 of them.
size_t BytesOfMegabytes(const std::string& flag, double megabytes);

/// "1x3x300x300". Throws Error, naming the flag, for anything else.
Shape ParseShape(const std::string& flag, const std::string& text);

/// A table of any format for a net. Says on `out` if it was made for another net or other weights,
/// and which blobs it lacks.
std::shared_ptr<const CalibrationTable> ReadTable(const std::string& file, const Net<float>& net,
                                                  const NetParameter& param, std::ostream& out);

/// Builds with progress on stderr, remarks on `out`, each once, and a timing cache in a file ("":
/// none), which is read before the first and written after each build.
class CachedBuilder {
 public:
  CachedBuilder(std::string timing_cache, std::ostream* out);
  std::shared_ptr<const inference::Engine> Build(const inference::NetworkDefinition& net,
                                                 inference::BuilderConfig config) const;

 private:
  void WriteCache() const;

  const std::string file_;
  std::ostream* const out_;
  std::shared_ptr<inference::TimingCache> cache_;
  const std::shared_ptr<std::set<std::string>> said_ = std::make_shared<std::set<std::string>>();
};

/// "12.3 us", "1.23 ms"; "-" for 0, which was not timed.
std::string TimeText(double microseconds);
/// "1 thread", "2 threads".
std::string ThreadsText(int threads);

}  // namespace caffe

#endif  // CAFFE_TOOLS_COMMON_ENGINE_BUILDING_HPP_
