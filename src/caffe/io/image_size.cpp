#include "caffe/io/image_size.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "caffe/core/limits.hpp"
#include "caffe/error.hpp"

// How large an image is, from its first bytes, so that a small file that says it is huge (a
// decompression bomb) is refused before a decoder takes memory for it.

namespace caffe {
namespace {

/// Bytes with bounds: what lies behind the end is 0, and makes the result no good.
class Header {
 public:
  Header(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  bool good() const { return good_; }
  size_t size() const { return size_; }
  bool Begins(const char* text, size_t length, size_t at = 0) const {
    return at <= size_ && length <= size_ - at && std::memcmp(data_ + at, text, length) == 0;
  }
  uint64_t Byte(size_t at) {
    good_ = good_ && at < size_;
    return good_ ? data_[at] : 0;
  }
  uint64_t Big(size_t at, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) value = value << 8 | Byte(at + i);
    return value;
  }
  uint64_t Little(size_t at, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = bytes; i-- > 0;) value = value << 8 | Byte(at + i);
    return value;
  }
  uint64_t Number(size_t at, size_t bytes, bool big) {
    return big ? Big(at, bytes) : Little(at, bytes);
  }

 private:
  const uint8_t* data_;
  const size_t size_;
  bool good_ = true;
};

// The segments up to a start of frame (ITU-T T.81, B.1.1.4).
ImageSize JpegSize(Header* in) {
  size_t at = 2;
  while (in->good()) {
    if (in->Byte(at) != 0xff) {
      ++at;  // decoders pass over what stands between segments
      continue;
    }
    const uint64_t marker = in->Byte(at + 1);
    at += marker == 0xff ? 1 : 2;
    const bool alone = marker == 0xff || marker <= 1 || (marker >= 0xd0 && marker <= 0xd9);
    if (alone) continue;
    const bool frame =
        marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (frame) return {in->Big(at + 3, 2), in->Big(at + 5, 2)};
    at += std::max<uint64_t>(2, in->Big(at, 2));
  }
  return {};
}

// https://developers.google.com/speed/webp/docs/riff_container
ImageSize WebpSize(Header* in) {
  if (in->Begins("VP8X", 4, 12)) return {in->Little(27, 3) + 1, in->Little(24, 3) + 1};
  if (in->Begins("VP8L", 4, 12)) {
    const uint64_t bits = in->Little(21, 4);
    return {(bits >> 14 & 0x3fff) + 1, (bits & 0x3fff) + 1};
  }
  return {in->Little(28, 2) & 0x3fff, in->Little(26, 2) & 0x3fff};
}

// The first directory; BigTIFF (version 43) has wider numbers.
ImageSize TiffSize(Header* in) {
  const bool big = in->Byte(0) == 'M', wide = in->Number(2, 2, big) == 43;
  const size_t number = wide ? 8 : 4, entry_size = wide ? 20 : 12;
  const size_t directory = in->Number(wide ? 8 : 4, number, big);
  if (directory > in->size()) return {};
  const uint64_t entries = in->Number(directory, wide ? 8 : 2, big);
  ImageSize size;
  for (uint64_t i = 0; i < std::min<uint64_t>(entries, 4096) && in->good(); ++i) {
    const size_t entry = directory + (wide ? 8 : 2) + i * entry_size;
    const uint64_t tag = in->Number(entry, 2, big), type = in->Number(entry + 2, 2, big);
    if (tag != 256 && tag != 257) continue;
    const size_t bytes = type == 3 ? 2 : type == 16 ? 8 : type == 1 ? 1 : 4;
    const uint64_t value = in->Number(entry + 4 + number, bytes, big);
    (tag == 256 ? size.width : size.height) = value;
  }
  return size;
}

/// A header of BMP; a negative height stands for rows from the top.
ImageSize BmpSize(Header* in) {
  if (in->Little(14, 4) == 12) return {in->Little(20, 2), in->Little(18, 2)};
  const int32_t height = static_cast<int32_t>(in->Little(22, 4));
  const int32_t width = static_cast<int32_t>(in->Little(18, 4));
  return {static_cast<uint64_t>(std::abs(int64_t{height})),
          static_cast<uint64_t>(std::abs(int64_t{width}))};
}

/// The next number of a header in text, behind white space and comments.
uint64_t TextNumber(Header* in, size_t* at) {
  const auto is_space = [](uint64_t c) { return std::isspace(static_cast<int>(c)) != 0; };
  while (in->good()) {
    const uint64_t c = in->Byte(*at);
    if (c == '#') {
      while (in->good() && in->Byte(*at) != '\n') ++*at;
    } else if (!is_space(c)) {
      break;
    } else {
      ++*at;
    }
  }
  constexpr uint64_t kMost = 1'000'000'000'000;  // more is as much too large; zeros may come first
  uint64_t number = 0;
  for (; *at < in->size(); ++*at) {
    const uint64_t c = in->Byte(*at);
    if (c < '0' || c > '9') break;
    number = std::min(kMost, number * 10 + (c - '0'));
  }
  return number;
}

ImageSize PnmSize(Header* in) {
  size_t at = 2;
  ImageSize size;
  size.width = TextNumber(in, &at);
  ++at;  // whatever ends the number is read with it, even a '#'
  size.height = TextNumber(in, &at);
  return size;
}

/// "WIDTH n" and "HEIGHT n" of PAM.
ImageSize PamSize(Header* in) {
  ImageSize size;
  const size_t end = std::min<size_t>(in->size(), 4096);
  for (size_t at = 2; at < end; ++at) {
    for (const auto& [word, side] :
         {std::make_pair("\nWIDTH ", &size.width), std::make_pair("\nHEIGHT ", &size.height)}) {
      const size_t length = std::strlen(word);
      size_t number = at + length;
      if (in->Begins(word, length, at)) *side = TextNumber(in, &number);
    }
    if (in->Begins("\nENDHDR", 7, at)) break;
  }
  return size;
}

// ITU-T T.800: SIZ of the codestream, which a file has behind its boxes.
ImageSize Jpeg2000Size(Header* in) {
  const size_t end = std::min<size_t>(in->size(), 1 << 20);
  for (size_t at = 0; at < end; ++at) {
    if (!in->Begins("\xff\x4f\xff\x51", 4, at)) continue;
    const uint64_t x = in->Big(at + 8, 4), y = in->Big(at + 12, 4);
    const uint64_t left = in->Big(at + 16, 4), top = in->Big(at + 20, 4);
    return {y > top ? y - top : 0, x > left ? x - left : 0};
  }
  return {};
}

/// "-Y 480 +X 640" or "+X 640 -Y 480" behind an empty line.
ImageSize RadianceSize(Header* in) {
  const size_t end = std::min<size_t>(in->size(), 1 << 16);
  for (size_t at = 0; at + 2 < end; ++at) {
    if (!in->Begins("\n\n", 2, at)) continue;
    size_t first = at + 4;
    ImageSize size;
    size.height = TextNumber(in, &first);
    first += 3;
    size.width = TextNumber(in, &first);
    return size;
  }
  return {};
}

bool IsRadiance(const Header& in) { return in.Begins("#?RADIANCE", 10) || in.Begins("#?RGBE", 6); }

/// True for a Radiance image (Greg Ward, "Real Pixels", Graphics Gems II) with its format line,
/// this size in the usual order, and all its pixels: flat ones, or runs of each of a row's four
/// bytes.
bool IsWholeRadiance(const uint8_t* data, size_t size, const ImageSize& of) {
  const uint8_t* at = data;
  const uint8_t* const end = data + size;
  const auto line = [&] {
    const uint8_t* const stop = std::find(at, end, '\n');
    const std::string text(at, stop);
    at = stop == end ? end : stop + 1;
    return text;
  };
  bool has_format = false;
  for (std::string text = line(); !text.empty(); text = line()) {
    constexpr size_t kLongest = 126;  // that OpenCV reads in one piece
    if (text.size() > kLongest || text.find('\0') != std::string::npos) return false;
    has_format = has_format || text == "FORMAT=32-bit_rle_rgbe";
  }
  if (!has_format || line() != Join("-Y ", of.height, " +X ", of.width)) return false;
  const bool may_have_runs = of.width >= 8 && of.width < 1 << 15;
  for (uint64_t row = 0; row < of.height; ++row) {
    const size_t left = static_cast<size_t>(end - at);
    if (left < 4) return false;
    const bool has_runs = may_have_runs && at[0] == 2 && at[1] == 2 && at[2] < 128;
    if (!has_runs) return left / 4 / of.width >= of.height - row;  // nor have the other rows
    if ((uint64_t{at[2]} << 8 | at[3]) != of.width) return false;
    at += 4;
    for (int channel = 0; channel < 4; ++channel) {
      for (uint64_t pixel = 0; pixel < of.width;) {
        if (at == end) return false;
        const uint8_t code = *at++;
        const uint64_t count = code > 128 ? code - 128 : code;
        const uint64_t bytes = code > 128 ? 1 : count;
        if (count == 0 || count > of.width - pixel || uint64_t(end - at) < bytes) return false;
        at += bytes;
        pixel += count;
      }
    }
  }
  return true;
}

/// The attribute dataWindow of OpenEXR.
ImageSize ExrSize(Header* in) {
  constexpr char kWindow[] = "dataWindow\0box2i\0\20\0\0";
  constexpr size_t kLength = sizeof(kWindow);  // with the last 0 of the size's four bytes
  const size_t end = std::min<size_t>(in->size(), 1 << 16);
  for (size_t at = 8; at < end; ++at) {
    if (!in->Begins(kWindow, kLength, at)) continue;
    int64_t corners[4];
    for (int i = 0; i < 4; ++i) {
      corners[i] = static_cast<int32_t>(in->Little(at + kLength + 4 * i, 4));
    }
    return {static_cast<uint64_t>(std::max<int64_t>(0, corners[3] - corners[1] + 1)),
            static_cast<uint64_t>(std::max<int64_t>(0, corners[2] - corners[0] + 1))};
  }
  return {};
}

bool IsTiff(const Header& in) {
  return in.Begins("II*\0", 4) || in.Begins("MM\0*", 4) || in.Begins("II+\0", 4) ||
         in.Begins("MM\0+", 4);
}

std::optional<ImageSize> SizeOfKind(Header* in) {
  if (in->Begins("\x89PNG\r\n\x1a\n", 8)) return ImageSize{in->Big(20, 4), in->Big(16, 4)};
  if (in->Begins("\xff\xd8\xff", 3)) return JpegSize(in);
  if (in->Begins("RIFF", 4) && in->Begins("WEBP", 4, 8)) return WebpSize(in);
  if (IsTiff(*in)) return TiffSize(in);
  if (in->Begins("BM", 2)) return BmpSize(in);
  if (in->Begins("GIF8", 4)) return ImageSize{in->Little(8, 2), in->Little(6, 2)};
  if (in->Begins("P7", 2)) return PamSize(in);
  if (in->size() > 2 && in->Begins("P", 1) && in->Byte(1) >= '1' && in->Byte(1) <= '6') {
    return PnmSize(in);
  }
  if (in->Begins("\0\0\0\x0cjP  ", 8) || in->Begins("\xff\x4f\xff\x51", 4)) {
    return Jpeg2000Size(in);
  }
  if (in->Begins("v/1\1", 4)) return ExrSize(in);
  if (IsRadiance(*in)) return RadianceSize(in);
  if (in->Begins("\x59\xa6\x6a\x95", 4)) return ImageSize{in->Big(8, 4), in->Big(4, 4)};
  return {};
}

/// DICOM, PS3.10: behind a preamble of any 128 bytes.
bool IsDicom(const uint8_t* data, size_t size) {
  constexpr size_t kPreamble = 128;
  return size >= kPreamble + 4 && std::memcmp(data + kPreamble, "DICM", 4) == 0;
}

}  // namespace

std::optional<ImageSize> SizeOfEncodedImage(const uint8_t* data, size_t size) {
  Header header(data, size);
  const std::optional<ImageSize> found = SizeOfKind(&header);
  if (!header.good() || !found || found->height == 0 || found->width == 0) return {};
  return found;
}

bool IsDamagedRadiance(const uint8_t* data, size_t size) {
  if (!IsRadiance(Header(data, size))) return false;
  const std::optional<ImageSize> found = SizeOfEncodedImage(data, size);
  return !found || !IsWholeRadiance(data, size, *found);
}

void CheckEncodedImage(const uint8_t* data, size_t size, const std::string& what) {
  limits::Check(limits::kRecordBytes, size, what, ": an encoded image");
  Require(!IsDicom(data, size), what,
          ": a DICOM image, which is not read: OpenCV's decoder ends the program at a damaged one",
          Error::Remedy{"convert it to PNG"});
  const std::optional<ImageSize> found = SizeOfEncodedImage(data, size);
  if (!found) return;  // a decoder that reads it has OpenCV's limit
  limits::Check(limits::kImagePixels, limits::Product({found->height, found->width}), what,
                ": an image of ", found->height, " x ", found->width, " pixels");
}

}  // namespace caffe
