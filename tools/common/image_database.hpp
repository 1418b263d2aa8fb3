#ifndef CAFFE_TOOLS_COMMON_IMAGE_DATABASE_HPP_
#define CAFFE_TOOLS_COMMON_IMAGE_DATABASE_HPP_

#include <functional>
#include <string>
#include <vector>

#include "flags.hpp"
#include "image_list.hpp"

DECLARE_bool(gray);
DECLARE_bool(shuffle);
DECLARE_int32(resize_width);
DECLARE_int32(resize_height);
DECLARE_bool(check_size);
DECLARE_bool(encoded);
DECLARE_string(encode_type);

// What programs that write images to databases have in common.

namespace caffe {

/// -gray, -shuffle, -backend, -resize_width, -resize_height, -check_size, -encoded, -encode_type.
std::vector<FlagUse> ImageFlags();
/// Throws Error for sizes that do not go together.
void CheckImageFlags();

/// What an image is kept compressed as: what -encode_type says, else what its name tells, lower
/// case; "" unless it is kept so.
std::string EncodingOf(const std::string& path);

/// A record made of an image.
struct ImageRecord {
  bool read = false;  ///< false: the file is not an image
  std::string value;
  std::string size;  ///< to be the same in all records, unless empty
};

/// Writes read(line), called by several threads, for each line to a new database of -backend's
/// kind, with keys "<number>_<path>"; in random order with -shuffle. What is not an image is left
/// out, with a warning; Error if that is all of them, or if sizes differ. `list` and `root` say in
/// messages where paths come from.
void WriteImages(std::vector<ListLine> lines, const std::string& list, const std::string& root,
                 const std::string& path, const std::function<ImageRecord(const ListLine&)>& read);

}  // namespace caffe

#endif  // CAFFE_TOOLS_COMMON_IMAGE_DATABASE_HPP_
