#ifndef CAFFE_TOOLS_CAFFE_EXEC_FLAGS_HPP_
#define CAFFE_TOOLS_CAFFE_EXEC_FLAGS_HPP_

#include <string>
#include <utility>
#include <vector>

namespace caffe::exec {

/// What becomes of a flag that trtexec takes.
enum class Effect {
  DONE,     ///< it does what it does there
  GPU,      ///< it does on a GPU, and is ignored on the CPU
  IGNORED,  ///< it does nothing, and a warning says why
  REFUSED   ///< it ends the program with an error that says what to do
};

struct Flag {
  const char* name;      ///< without dashes
  const char* argument;  ///< what follows '=', as --help shows it; "": none, it is a switch
  const char* fallback;  ///< the value where the flag is not given
  Effect effect;
  const char* text;  ///< what it does; of the others why it does not, or what to do
};

struct FlagGroup {
  const char* title;
  std::vector<Flag> flags;
};

/// All flags of trtexec from TensorRT 5 to 10 and a few of our own, grouped as trtexec does.
const std::vector<FlagGroup>& FlagGroups();

/// What --help prints.
std::string Usage();
/// The flags as a table of a Markdown document.
std::string MarkdownTable();

/// "name:value,name:value": each name and value. A name may stand in single quotes, and then have
/// colons. Throws Error, naming the flag.
std::vector<std::pair<std::string, std::string>> NamesAndValues(const std::string& flag,
                                                                const std::string& text);

/// What a command line says. Functions take names of FlagGroups().
class Flags {
 public:
  /// --x=VALUE, --x VALUE, -x=VALUE and -x VALUE are the same. What FlagGroups() lacks and gflags
  /// knows, as what logging is told, is handed to gflags. Throws Error for a flag that is not
  /// known, with those that it may be a misspelling of; for one without its value; and for what is
  /// no flag.
  explicit Flags(const std::vector<std::string>& arguments);

  bool IsGiven(const std::string& name) const;
  /// Of a switch. --x=false and --x=0 switch it off.
  bool IsOn(const std::string& name) const;
  /// The value that was given last, or the fallback.
  std::string Text(const std::string& name) const;
  /// All values that were given, in their order.
  std::vector<std::string> All(const std::string& name) const;
  /// The parts between commas of all values that were given, or of the fallback.
  std::vector<std::string> List(const std::string& name) const;
  /// The value as a number. Throws Error, naming the flag, for what is none, or does not
  /// lie from `least` to `most`.
  double Number(const std::string& name, double least) const;
  int Int(const std::string& name, int least, int most = 1000000000) const;
  /// Throws Error, listing them, unless the value is one of `names`.
  std::string OneOf(const std::string& name, const std::vector<std::string>& names) const;

  /// Of those that are given, and are neither switched off nor have their fallback: flags with this
  /// effect.
  std::vector<Flag> With(Effect effect) const;

 private:
  struct Given {
    const Flag* flag;
    std::string value;
  };
  std::vector<Given> given_;
};

}  // namespace caffe::exec

#endif  // CAFFE_TOOLS_CAFFE_EXEC_FLAGS_HPP_
