#ifndef CAFFE_UTIL_PARAM_STR_HPP_
#define CAFFE_UTIL_PARAM_STR_HPP_

#include <map>
#include <set>
#include <string>
#include <vector>

namespace caffe {

/// The settings that a param_str holds in the form that Python layers' authors use: names and
/// numbers, or lists of numbers, as a Python dictionary or a YAML mapping on one line, with or
/// without its braces:
///
///     'feat_stride': 16, 'scales': [8, 16, 32], 'clobber_positives': True
class ParamStr {
 public:
  /// Throws Error, which has the text and says where it goes wrong.
  explicit ParamStr(const std::string& text);

  /// The value of a setting, `otherwise` if the text does not have it. Throw Error for a value of
  /// another type.
  float Number(const std::string& name, float otherwise);
  bool Flag(const std::string& name, bool otherwise);
  std::vector<float> Numbers(const std::string& name, const std::vector<float>& otherwise);

  /// Throws Error for settings that were not asked for, with a list of those that were.
  void RequireAllKnown() const;

 private:
  struct Parser;
  const std::vector<float>* Find(const std::string& name);

  std::string text_;
  std::map<std::string, std::vector<float>> values_;
  std::set<std::string> known_;
};

}  // namespace caffe

#endif  // CAFFE_UTIL_PARAM_STR_HPP_
