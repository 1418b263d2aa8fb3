#ifndef CAFFE_IO_WIRE_HPP_
#define CAFFE_IO_WIRE_HPP_

#include <cstdint>
#include <string>

#include "caffe/error.hpp"

namespace caffe::wire {

// Protobuf's encoding: https://protobuf.dev/programming-guides/encoding

enum class Type : uint32_t {
  VARINT = 0,
  FIXED64 = 1,
  LENGTH_DELIMITED = 2,
  START_GROUP = 3,
  END_GROUP = 4,
  FIXED32 = 5
};

/// A run of bytes in memory that its owner keeps alive.
struct Bytes {
  const uint8_t* begin = nullptr;
  const uint8_t* end = nullptr;
  size_t size() const { return static_cast<size_t>(end - begin); }
};

/// One field as it stands in the encoding.
struct Field {
  uint32_t number = 0;
  Type type = Type::VARINT;
  uint64_t varint = 0;  // of VARINT
  Bytes content;        // of the others: without tag and length
  Bytes whole;          // with tag and length
};

/// Whether a field is the message, string or bytes of this number.
inline bool IsMessage(const Field& field, int number) {
  return field.type == Type::LENGTH_DELIMITED && field.number == static_cast<uint32_t>(number);
}

inline std::string String(Bytes bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.begin), bytes.size());
}

/// Takes the fields of a message one after another, touching no byte of what it skips.
class Reader {
 public:
  /// `base` is where offsets in errors count from (the start of the file).
  Reader(Bytes message, const uint8_t* base) : at_(message.begin), end_(message.end), base_(base) {}

  /// The next field; false at the end. Throws Error with the byte offset if the encoding is broken
  /// or reaches beyond the message's end.
  bool Next(Field* field) {
    if (at_ == end_) return false;
    const uint8_t* start = at_;
    const uint64_t tag = Varint();
    field->number = static_cast<uint32_t>(tag >> 3);
    field->type = static_cast<Type>(tag & 7);
    if (tag > UINT32_MAX || field->number == 0) Broken(start, "no field of a message starts here");
    Content(start, field);
    field->whole = {start, at_};
    return true;
  }

  bool AtEnd() const { return at_ == end_; }

  /// The number that stands here, of a packed field.
  uint64_t Varint() {
    const uint8_t* start = at_;
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) Broken(start, "a number is cut off: the file is truncated or damaged");
      const uint8_t byte = *at_++;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80)) return value;
    }
    Broken(start, "a number has more than ten bytes");
  }

 private:
  void Content(const uint8_t* start, Field* field) {
    switch (field->type) {
      case Type::VARINT: {
        const uint8_t* begin = at_;
        field->varint = Varint();
        field->content = {begin, at_};
        return;
      }
      case Type::FIXED64:
        return Take(8, start, field);
      case Type::FIXED32:
        return Take(4, start, field);
      case Type::LENGTH_DELIMITED:
        return Take(Varint(), start, field);
      case Type::START_GROUP:
        return SkipGroup(field);
      default:
        Broken(start, "no field of a message starts here");
    }
  }

  void Take(uint64_t size, const uint8_t* start, Field* field) {
    if (size > static_cast<uint64_t>(end_ - at_)) {
      Broken(start, Join("a field of ", size, " bytes starts here, and only ", end_ - at_,
                         " bytes are left: the file is truncated or damaged"));
    }
    field->content = {at_, at_ + size};
    at_ += size;
  }

  /// Groups occur in no Caffe schema; nesting is bounded so that a damaged file cannot exhaust the
  /// stack.
  void SkipGroup(Field* field) {
    constexpr int kDeepest = 64;
    if (++depth_ > kDeepest) Broken(at_, "groups are nested too deeply");
    const uint8_t* begin = at_;
    for (;;) {
      if (at_ == end_) Broken(begin, "a group that starts here does not end");
      const uint8_t* start = at_;
      const uint64_t tag = Varint();
      if (static_cast<Type>(tag & 7) == Type::END_GROUP) break;
      Field inner;
      inner.type = static_cast<Type>(tag & 7);
      Content(start, &inner);
    }
    --depth_;
    field->content = {begin, at_};
  }

  [[noreturn]] void Broken(const uint8_t* where, const std::string& what) const {
    Fail("byte ", where - base_, ": ", what);
  }

  const uint8_t* at_;
  const uint8_t* end_;
  const uint8_t* base_;
  int depth_ = 0;
};

inline void AppendVarint(uint64_t value, std::string* bytes) {
  for (; value >= 0x80; value >>= 7) bytes->push_back(static_cast<char>(value | 0x80));
  bytes->push_back(static_cast<char>(value));
}

inline void AppendTag(uint32_t number, Type type, std::string* bytes) {
  AppendVarint(uint64_t{number} << 3 | static_cast<uint32_t>(type), bytes);
}

/// Tag and length of a length-delimited field; its content has to follow.
inline void AppendHeader(uint32_t number, uint64_t length, std::string* bytes) {
  AppendTag(number, Type::LENGTH_DELIMITED, bytes);
  AppendVarint(length, bytes);
}

}  // namespace caffe::wire

#endif  // CAFFE_IO_WIRE_HPP_
