#include "files.hpp"

#include <filesystem>

#include "caffe/error.hpp"
#include "caffe/io/atomic_file.hpp"

namespace caffe {
namespace {

bool AreOneFile(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return false;
  std::error_code none;
  if (std::filesystem::equivalent(a, b, none)) {
    return std::filesystem::is_regular_file(a, none);
  }
  const bool exists = std::filesystem::exists(a, none) || std::filesystem::exists(b, none);
  // Of files that are still to be made only the paths can be compared.
  return !exists && std::filesystem::weakly_canonical(std::filesystem::absolute(a, none), none) ==
                        std::filesystem::weakly_canonical(std::filesystem::absolute(b, none), none);
}

}  // namespace

std::vector<NamedFile> NamedFiles(const std::string& flag, const std::vector<std::string>& files) {
  std::vector<NamedFile> named;
  for (const std::string& file : files) named.push_back({flag, file});
  return named;
}

void RequireOtherFiles(const std::vector<NamedFile>& written, const std::vector<NamedFile>& read) {
  for (size_t i = 0; i < written.size(); ++i) {
    for (const NamedFile& other : read) {
      Require(!AreOneFile(written[i].file, other.file), written[i].flag, ": ", written[i].file,
              " would be overwritten, which ", other.flag, " reads",
              Error::Remedy{"give another name"});
    }
    for (size_t j = 0; j < i; ++j) {
      Require(!AreOneFile(written[i].file, written[j].file), written[i].flag, ": ", written[i].file,
              " is what ", written[j].flag, " writes", Error::Remedy{"give another name"});
    }
  }
}

void RequireWritable(const std::string& file) {
  if (!file.empty()) AtomicFile probe(file);
}

void WriteText(const std::string& text, const std::string& file) {
  AtomicFile out(file);
  out.Write(text.data(), text.size());
  out.Commit();
}

}  // namespace caffe
