#ifndef CAFFE_IO_SHARED_DATABASES_HPP_
#define CAFFE_IO_SHARED_DATABASES_HPP_

#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace caffe::db {

/// Databases that are open for reading, by path. Neither LMDB nor LevelDB may be opened twice by
/// one process, but a train net and a test net may well read the same one.
template <typename Handle>
class SharedDatabases {
 public:
  /// `file`: one that a database of this kind has in its folder as long as it lives.
  explicit SharedDatabases(std::string file) : file_(std::move(file)) {}

  /// The handle of `source`, made by open(source) if there is none, or if the folder has been
  /// removed and made again since.
  template <typename Function>
  std::shared_ptr<Handle> Open(const std::string& source, Function&& open) {
    std::error_code ignored;
    const std::string path = std::filesystem::weakly_canonical(source, ignored).string();
    std::lock_guard<std::mutex> lock(mutex_);
    Known& known = databases_[path.empty() ? source : path];
    std::shared_ptr<Handle> handle = known.handle.lock();
    if (!handle || IdentityOf(source) != known.identity) {
      handle = open(source);
      known = {handle, IdentityOf(source)};  // which may have made the file
    }
    return handle;
  }

 private:
  using Identity = std::pair<dev_t, ino_t>;  // no other file's as long as a handle has it open
  struct Known {
    std::weak_ptr<Handle> handle;
    Identity identity;
  };

  Identity IdentityOf(const std::string& source) const {
    struct stat status;
    if (stat((source + "/" + file_).c_str(), &status) != 0) return {};
    return {status.st_dev, status.st_ino};
  }

  const std::string file_;
  std::mutex mutex_;
  std::map<std::string, Known> databases_;
};

/// " (it is ...)" if `source` is not a database of kind `wanted` ("lmdb" or "leveldb") but
/// something that is recognised, with the remedy; else "".
std::string OtherKindHint(const std::string& source, const std::string& wanted);

}  // namespace caffe::db

#endif  // CAFFE_IO_SHARED_DATABASES_HPP_
