#ifndef CAFFE_INFERENCE_REPORT_HTML_HPP_
#define CAFFE_INFERENCE_REPORT_HTML_HPP_

#include <map>
#include <string>

#include "caffe/util/plot/svg.hpp"

// The little HTML that sections of a report are put together from. What is called text is escaped;
// what is called content is HTML already.
namespace caffe::inference {

/// <name attributes>content</name>; attributes are as in 'class="wide"'.
std::string Tag(const std::string& name, const std::string& attributes, const std::string& content);
inline std::string Tag(const std::string& name, const std::string& content) {
  return Tag(name, "", content);
}

/// `attribute="text"`.
std::string Attribute(const std::string& attribute, const std::string& text);

/// A bar that fills `share` (0 to 1) of what is around it, in the colour of a class of the style
/// sheet.
std::string Bar(double share, const std::string& look);

/// The page with each {{name}} replaced by its content. Throws Error for a name without content.
std::string Filled(const std::string& page, const std::map<std::string, std::string>& contents);

/// The page itself: skeleton, style sheet and script.
extern const char kPage[];

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_REPORT_HTML_HPP_
