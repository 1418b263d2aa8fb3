#ifndef CAFFE_IO_SHARED_DATABASES_HPP_
#define CAFFE_IO_SHARED_DATABASES_HPP_

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace caffe::db {

/// Databases that are open for reading, by path. Neither LMDB nor LevelDB may be opened twice by
/// one process, but a train net and a test net may well read the same one.
template <typename Handle>
class SharedDatabases {
 public:
  /// The handle of `source`, made by open(source) if there is none.
  template <typename Function>
  std::shared_ptr<Handle> Open(const std::string& source, Function&& open) {
    std::error_code ignored;
    const std::string path = std::filesystem::weakly_canonical(source, ignored).string();
    std::lock_guard<std::mutex> lock(mutex_);
    std::weak_ptr<Handle>& known = handles_[path.empty() ? source : path];
    std::shared_ptr<Handle> handle = known.lock();
    if (!handle) known = handle = open(source);
    return handle;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<Handle>> handles_;
};

/// " (it is ...)" if `source` is not a database of kind `wanted` ("lmdb" or "leveldb") but
/// something that is recognised, with the remedy; else "".
std::string OtherKindHint(const std::string& source, const std::string& wanted);

}  // namespace caffe::db

#endif  // CAFFE_IO_SHARED_DATABASES_HPP_
