#ifndef CAFFE_TOOLS_COMMON_FLAGS_HPP_
#define CAFFE_TOOLS_COMMON_FLAGS_HPP_

#include <gflags/gflags.h>

#include <string>
#include <utility>
#include <vector>

/// Defines a flag of gflags and how help, man pages and completion show it. `value` stands for its
/// value: "FILE", "N", "A|B|C" where only these are valid, "" for a switch. `help` says what it
/// does, without a full stop. The value of a string that is shown as "[FILE]" may be left out; the
/// flag is kGivenWithoutValue then.
#define CAFFE_FLAG(type, name, otherwise, value, help) \
  DEFINE_##type(name, otherwise, help);                \
  static const caffe::FlagValue flag_value_##name(#name, value)

namespace caffe {

constexpr char kGivenWithoutValue[] = "true";

/// Registers what stands for the value of a flag.
class FlagValue {
 public:
  FlagValue(const char* flag, const char* value);
};

/// What stands for a flag's value; "" for a switch, and for flags that CAFFE_FLAG did not define.
std::string ValueOf(const std::string& flag);
/// The names of all flags that CAFFE_FLAG defines, sorted.
std::vector<std::string> OwnFlags();
/// True if the command line sets the flag, be it to its default.
bool IsGiven(const char* flag);

/// A flag as one command uses it.
struct FlagUse {
  FlagUse(const char* flag) : name(flag) {}  // NOLINT: lists of names
  FlagUse(const char* flag, std::string text) : name(flag), help(std::move(text)) {}
  std::string name;
  std::string help;  ///< in place of the flag's own; may be empty
};

/// Flags that are shown together. `about` is text below the title, `notes` below the flags, each
/// whole lines or nothing.
struct FlagGroup {
  std::string title;
  std::string about;
  std::vector<FlagUse> flags;
  std::string notes;
};

/// The text in lines of `width` at most, each but the first behind `indent` spaces.
std::string Wrapped(const std::string& text, size_t indent, size_t width);

/// "  -name VALUE   help (default X)", wrapped, a paragraph for each flag below the title.
std::string TextOf(const FlagGroup& group);

/// Throws Error with `remedy` for the first of these flags that the command line gives: "-NAME
/// WHY".
void RequireNotGiven(const std::vector<FlagUse>& flags, const std::string& why,
                     const std::string& remedy);

/// Adds the value to flags whose value was left out: where the next argument is a flag, or none is
/// left. The strings last as long as the program.
void AddOptionalValues(int argc, char** argv);

/// Throws Error for the first flag on the command line that the program does not have, with the
/// nearest names, and for the first value that is not of its flag's type.
void CheckFlags(int argc, char** argv);

}  // namespace caffe

#endif  // CAFFE_TOOLS_COMMON_FLAGS_HPP_
