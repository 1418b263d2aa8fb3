#ifndef CAFFE_UTIL_IO_HPP_
#define CAFFE_UTIL_IO_HPP_

// Programs take Boost's file system from this header, as from Caffe's.
#include <boost/filesystem.hpp>
#include <iomanip>
#include <iostream>
#include <string>

#include "caffe/proto/caffe.pb.h"
#include "caffe/util/format.hpp"
#include "caffe/util/image.hpp"
#include "google/protobuf/message.h"

namespace caffe {

using google::protobuf::Message;

/// Creates a new directory in the system's place for temporary files and gives its path. Throws
/// Error.
void MakeTempDir(std::string* temp_dirname);
/// Gives the path of a file that does not exist, in a new temporary directory. Throws Error.
void MakeTempFilename(std::string* temp_filename);

/// Files in protobuf's text and binary forms. The functions that return bool log why they failed;
/// the others throw Error (in BVLC Caffe they end the process) with file, line, column and field,
/// and the nearest known name for an unknown one.
bool ReadProtoFromTextFile(const char* filename, google::protobuf::Message* proto);
bool ReadProtoFromTextFile(const std::string& filename, google::protobuf::Message* proto);
void ReadProtoFromTextFileOrDie(const char* filename, google::protobuf::Message* proto);
void ReadProtoFromTextFileOrDie(const std::string& filename, google::protobuf::Message* proto);

bool ReadProtoFromBinaryFile(const char* filename, google::protobuf::Message* proto);
bool ReadProtoFromBinaryFile(const std::string& filename, google::protobuf::Message* proto);
void ReadProtoFromBinaryFileOrDie(const char* filename, google::protobuf::Message* proto);
void ReadProtoFromBinaryFileOrDie(const std::string& filename, google::protobuf::Message* proto);

/// Written aside, synced and renamed: a failure throws Error and leaves the old file.
void WriteProtoToTextFile(const google::protobuf::Message& proto, const char* filename);
void WriteProtoToTextFile(const google::protobuf::Message& proto, const std::string& filename);
void WriteProtoToBinaryFile(const google::protobuf::Message& proto, const char* filename);
void WriteProtoToBinaryFile(const google::protobuf::Message& proto, const std::string& filename);

/// When true, fields that the schema does not have are skipped with a warning that names file, line
/// and field, in all text files that the process reads from now on; otherwise (the default) they
/// are errors. Thread-safe.
void set_ignore_unknown_fields(bool ignore);
bool ignore_unknown_fields();

}  // namespace caffe

#endif  // CAFFE_UTIL_IO_HPP_
