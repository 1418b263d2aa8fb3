#ifndef CAFFE_TEST_MARKUP_CHECK_HPP_
#define CAFFE_TEST_MARKUP_CHECK_HPP_

#include <cctype>
#include <set>
#include <string>
#include <vector>

namespace caffe {

/// Reads XML as far as programs here write it (elements, attributes in double quotes, the five
/// named entities, a doctype): error() says what is not well formed, "" if all is.
class MarkupCheck {
 public:
  explicit MarkupCheck(const std::string& text) : text_(text) {
    while (error_.empty() && at_ < text_.size()) Step();
    if (error_.empty() && !open_.empty()) Fail("<" + open_.back() + "> is not closed");
  }
  const std::string& error() const { return error_; }
  /// How many elements of that name there are.
  size_t Count(const std::string& name) const { return elements_.count(name); }
  /// All that stands outside of tags, entities as they are.
  const std::string& content() const { return content_; }

 private:
  void Fail(const std::string& what) {
    if (error_.empty()) error_ = what + " before: " + text_.substr(at_, 60);
    at_ = text_.size();
  }
  bool Take(const std::string& word) {
    if (text_.compare(at_, word.size(), word) != 0) return false;
    at_ += word.size();
    return true;
  }
  std::string Name() {
    const size_t from = at_;
    while (at_ < text_.size() && (std::isalnum(text_[at_]) || text_[at_] == '-')) ++at_;
    if (from == at_) Fail("no name");
    return error_.empty() ? text_.substr(from, at_ - from) : "";
  }
  void Entity() {
    for (const char* known : {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"}) {
      if (Take(known)) return;
    }
    Fail("a lone &");
  }

  void Step() {
    if (text_[at_] == '&') return Entity();
    if (Take("<!DOCTYPE html>")) return;
    if (Take("</")) return Close();
    if (Take("<")) return Open();
    content_ += text_[at_++];
  }
  void Close() {
    const std::string name = Name();
    if (open_.empty() || open_.back() != name || !Take(">")) return Fail("</" + name + ">");
    open_.pop_back();
  }
  void Open() {
    const std::string name = Name();
    elements_.insert(name);
    std::set<std::string> seen;
    while (error_.empty()) {
      while (at_ < text_.size() && std::isspace(text_[at_])) ++at_;
      if (Take("/>")) return;
      if (Take(">")) return open_.push_back(name);
      if (!seen.insert(Name()).second) Fail("an attribute twice");
      AttributeValue();
    }
  }
  void AttributeValue() {
    if (!Take("=\"")) return Fail("no =\"");
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '<') return Fail("< in an attribute");
      text_[at_] == '&' ? Entity() : void(++at_);
    }
    if (!Take("\"")) Fail("no \"");
  }

  const std::string text_;
  size_t at_ = 0;
  std::vector<std::string> open_;
  std::multiset<std::string> elements_;
  std::string content_, error_;
};

}  // namespace caffe

#endif  // CAFFE_TEST_MARKUP_CHECK_HPP_
