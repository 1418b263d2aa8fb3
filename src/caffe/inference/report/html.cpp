#include "html.hpp"

#include <algorithm>

#include "caffe/error.hpp"
#include "caffe/util/text/text_table.hpp"

namespace caffe::inference {

std::string Tag(const std::string& name, const std::string& attributes,
                const std::string& content) {
  return "<" + name + (attributes.empty() ? "" : " ") + attributes + ">" + content + "</" + name +
         ">";
}

std::string Attribute(const std::string& attribute, const std::string& text) {
  return attribute + "=\"" + SvgEscaped(text) + "\"";
}

std::string Bar(double share, const std::string& look) {
  const std::string style = Formatted("width:%.1f%%", 100 * std::clamp(share, 0.0, 1.0));
  return Tag("div", "class=\"track\"",
             Tag("div", Attribute("class", "bar " + look) + " " + Attribute("style", style), ""));
}

std::string Filled(const std::string& page, const std::map<std::string, std::string>& contents) {
  std::string filled;
  size_t at = 0;
  for (size_t open; (open = page.find("{{", at)) != std::string::npos;) {
    const size_t close = page.find("}}", open);
    Require(close != std::string::npos, "the page: a {{ is not closed");
    const std::string name = page.substr(open + 2, close - open - 2);
    const auto content = contents.find(name);
    Require(content != contents.end(), "the page: nothing is there for {{", name, "}}");
    filled += page.substr(at, open - at) + content->second;
    at = close + 2;
  }
  return filled + page.substr(at);
}

}  // namespace caffe::inference
