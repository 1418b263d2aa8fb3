#include <glog/logging.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "caffe/error.hpp"
#include "caffe/io/proto_binary.hpp"
#include "caffe/io/proto_text.hpp"
#include "caffe/util/io.hpp"

// Caffe's names for reading and writing protobuf files and for temporary files.

namespace caffe {

namespace {

using Proto = google::protobuf::Message;

template <typename Read>
bool Try(Read read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    LOG(ERROR) << error.what();
    return false;
  }
}

}  // namespace

void MakeTempDir(std::string* temp_dirname) {
  const std::string pattern =
      (std::filesystem::temp_directory_path() / "caffe_test.XXXXXX").string();
  std::string name = pattern;
  Require(mkdtemp(name.data()) != nullptr, pattern, ": no temporary directory can be made (",
          std::strerror(errno), ")");
  *temp_dirname = name;
}

void MakeTempFilename(std::string* temp_filename) {
  std::string directory;
  MakeTempDir(&directory);
  *temp_filename = (std::filesystem::path(directory) / "file").string();
}

void ReadProtoFromTextFileOrDie(const std::string& filename, Proto* proto) {
  ReadProtoText(filename, proto);
}
void ReadProtoFromTextFileOrDie(const char* filename, Proto* proto) {
  ReadProtoText(filename, proto);
}
bool ReadProtoFromTextFile(const std::string& filename, Proto* proto) {
  return Try([&] { ReadProtoText(filename, proto); });
}
bool ReadProtoFromTextFile(const char* filename, Proto* proto) {
  return ReadProtoFromTextFile(std::string(filename), proto);
}

void ReadProtoFromBinaryFileOrDie(const std::string& filename, Proto* proto) {
  ReadProtoBinary(filename, proto);
}
void ReadProtoFromBinaryFileOrDie(const char* filename, Proto* proto) {
  ReadProtoBinary(filename, proto);
}
bool ReadProtoFromBinaryFile(const std::string& filename, Proto* proto) {
  return Try([&] { ReadProtoBinary(filename, proto); });
}
bool ReadProtoFromBinaryFile(const char* filename, Proto* proto) {
  return ReadProtoFromBinaryFile(std::string(filename), proto);
}

void WriteProtoToTextFile(const Proto& proto, const std::string& filename) {
  WriteProtoText(proto, filename);
}
void WriteProtoToTextFile(const Proto& proto, const char* filename) {
  WriteProtoText(proto, filename);
}
void WriteProtoToBinaryFile(const Proto& proto, const std::string& filename) {
  WriteProtoBinary(proto, filename);
}
void WriteProtoToBinaryFile(const Proto& proto, const char* filename) {
  WriteProtoBinary(proto, filename);
}

}  // namespace caffe
