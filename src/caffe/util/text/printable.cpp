#include "caffe/util/text/printable.hpp"

#include <cstdint>

namespace caffe {

namespace {

uint8_t ByteAt(const std::string& text, size_t at) {
  return at < text.size() ? static_cast<uint8_t>(text[at]) : 0;
}

bool IsIn(uint8_t byte, uint8_t least, uint8_t most) { return byte >= least && byte <= most; }

/// Bytes of the character that begins there; 0 for one that must not be shown. The second byte's
/// bounds leave out overlong forms, surrogates, what is beyond Unicode, and the control characters
/// U+0080 to U+009F.
size_t ShownBytes(const std::string& text, size_t at) {
  const uint8_t first = ByteAt(text, at), second = ByteAt(text, at + 1);
  if (IsIn(first, 0x20, 0x7e) || first == '\n' || first == '\t') return 1;
  if (IsIn(first, 0xc2, 0xdf)) return IsIn(second, first == 0xc2 ? 0xa0 : 0x80, 0xbf) ? 2 : 0;
  const bool third = IsIn(ByteAt(text, at + 2), 0x80, 0xbf);
  if (IsIn(first, 0xe0, 0xef)) {
    const bool fits = IsIn(second, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf);
    return fits && third ? 3 : 0;
  }
  const bool fourth = IsIn(ByteAt(text, at + 3), 0x80, 0xbf);
  const bool fits = IsIn(second, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf);
  return IsIn(first, 0xf0, 0xf4) && fits && third && fourth ? 4 : 0;
}

}  // namespace

std::string Printable(const std::string& text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = ShownBytes(text, at);
    if (bytes > 0) {
      shown.append(text, at, bytes);
      at += bytes;
    } else {
      const uint8_t byte = ByteAt(text, at++);
      shown += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return shown;
}

}  // namespace caffe
