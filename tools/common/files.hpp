#ifndef CAFFE_TOOLS_COMMON_FILES_HPP_
#define CAFFE_TOOLS_COMMON_FILES_HPP_

#include <string>
#include <vector>

// Files that programs read and write.

namespace caffe {

/// A file and the flag that names it, with its dashes. An empty name is not a file.
struct NamedFile {
  std::string flag;
  std::string file;
};

/// `files` under one flag's name.
std::vector<NamedFile> NamedFiles(const std::string& flag, const std::vector<std::string>& files);

/// Throws Error if a file to be written is one of those that are read, or two to be written are
/// one, by whatever paths. Devices such as /dev/null may be named as often as one likes.
void RequireOtherFiles(const std::vector<NamedFile>& written, const std::vector<NamedFile>& read);

/// Throws Error if the file cannot be written: before the work, not after it.
void RequireWritable(const std::string& file);
/// Aside, then renamed. Throws Error.
void WriteText(const std::string& text, const std::string& file);

}  // namespace caffe

#endif  // CAFFE_TOOLS_COMMON_FILES_HPP_
