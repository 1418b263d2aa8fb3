#ifndef CAFFE_TEST_TEST_DATA_HPP_
#define CAFFE_TEST_TEST_DATA_HPP_

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace caffe {

/// The source tree that the tests were built from.
std::filesystem::path SourceFolder();

/// Where real nets, weights and images lie, which are no part of the source: the directory that
/// the environment variable CAFFE_TEST_DATA names, else ../shared/data next to the source tree.
inline std::filesystem::path SharedDataRoot() {
  const char* root = std::getenv("CAFFE_TEST_DATA");
  if (root) return root;
  return SourceFolder() / ".." / "shared" / "data";
}

/// The path of a file there: SharedData("models/lenet_v1format/deploy.prototxt").
inline std::string SharedData(const std::string& relative) {
  return (SharedDataRoot() / relative).string();
}

/// False where there are no such files; tests that need them then skip:
///
///     if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
inline bool HasSharedData() { return std::filesystem::is_directory(SharedDataRoot()); }

constexpr char kNoSharedData[] = "no shared test data; CAFFE_TEST_DATA may name its directory";

/// The files under a directory there whose names end in `extension`, sorted.
inline std::vector<std::string> SharedFiles(const std::string& directory,
                                            const std::string& extension) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SharedData(directory))) {
    if (entry.path().extension() == extension) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace caffe

#endif  // CAFFE_TEST_TEST_DATA_HPP_
