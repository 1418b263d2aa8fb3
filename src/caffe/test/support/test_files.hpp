#ifndef CAFFE_TEST_TEST_FILES_HPP_
#define CAFFE_TEST_TEST_FILES_HPP_

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "caffe/error.hpp"
#include "caffe/util/io.hpp"

// Temporary files and expected errors, for tests.

namespace caffe {

/// A new empty folder; gone when the process ends.
inline std::string NewFolder() {
  struct Root {
    Root() { MakeTempDir(&path); }
    ~Root() { std::filesystem::remove_all(path); }
    std::string path;
    int folders = 0;
  };
  static Root root;
  const std::string folder = root.path + "/" + std::to_string(root.folders++);
  std::filesystem::create_directory(folder);
  return folder;
}

/// The path of a file that does not exist, alone in its folder.
inline std::string NewFileName() { return NewFolder() + "/file"; }

/// A new temporary file with these contents.
inline std::string NewFile(const std::string& contents) {
  const std::string name = NewFileName();
  std::ofstream(name, std::ios::binary) << contents;
  return name;
}

inline std::string ReadFile(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// The message of the Error that `action` throws; "" if it throws none.
inline std::string ErrorOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline void ExpectContains(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << "message: " << message << "\nwants: " << part;
}

/// Limits the size of files that the process may write, as a full disk would.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit = {bytes, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit old_;
};

}  // namespace caffe

#endif  // CAFFE_TEST_TEST_FILES_HPP_
