#include "shapes.hpp"

#include <algorithm>

#include "../common/engine_building.hpp"
#include "caffe/error.hpp"
#include "caffe/util/text/edit_distance.hpp"
#include "caffe/util/text/listed.hpp"
#include "caffe/util/text/shape_text.hpp"

namespace caffe::exec {
namespace {

using Shapes = std::map<std::string, Shape>;

/// A pattern's one '*' stands for anything.
bool Matches(const std::string& pattern, const std::string& name) {
  const size_t star = pattern.find('*');
  if (star == std::string::npos) return pattern == name;
  const std::string end = pattern.substr(star + 1);
  return name.size() >= star + end.size() && name.compare(0, star, pattern, 0, star) == 0 &&
         name.compare(name.size() - end.size(), end.size(), end) == 0;
}

/// What one value of a flag says of each input.
Shapes ShapesOf(const std::string& flag, const std::string& text,
                const std::vector<std::string>& inputs) {
  Shapes shapes;
  for (const auto& [pattern, shape] : NamesAndValues(flag, text)) {
    bool found = false;
    for (const std::string& input : inputs) {
      if (!Matches(pattern, input)) continue;
      const bool is_scalar = shape.empty() || shape == "scalar";
      shapes[input] = is_scalar ? Shape() : ParseShape("--" + flag, shape);
      found = true;
    }
    Require(found, "--", flag, ": there is no input '", pattern, "'", DidYouMean(pattern, inputs),
            "; there are ", ListedQuoted(inputs));
  }
  return shapes;
}

/// Extent by extent the largest (smallest) that several values of a flag say.
Shapes Extreme(const Flags& flags, const std::string& flag, const std::vector<std::string>& inputs,
               const int& (*extreme)(const int&, const int&)) {
  Shapes all;
  for (const std::string& text : flags.All(flag)) {
    for (const auto& [input, shape] : ShapesOf(flag, text, inputs)) {
      Shape& known = all.emplace(input, shape).first->second;
      Require(known.size() == shape.size(), "--", flag, ": input '", input, "' has ", known.size(),
              " extents in ", ShapeText(known), " and ", shape.size(), " in ", ShapeText(shape));
      std::transform(shape.begin(), shape.end(), known.begin(), known.begin(), extreme);
    }
  }
  return all;
}

/// Throws Error unless each shape lies below the other one of its input.
void RequireOrder(const std::string& small_flag, const Shapes& small, const std::string& large_flag,
                  const Shapes& large) {
  for (const auto& [input, shape] : small) {
    const auto other = large.find(input);
    if (other == large.end()) continue;
    const bool below = shape.size() == other->second.size() &&
                       std::equal(shape.begin(), shape.end(), other->second.begin(),
                                  [](int a, int b) { return a <= b; });
    Require(below, "--", small_flag, " of input '", input, "', ", ShapeText(shape),
            ", does not lie within --", large_flag, ", ", ShapeText(other->second));
  }
}

}  // namespace

ShapeFlags::ShapeFlags(const Flags& flags, const std::vector<std::string>& inputs) {
  smallest_ = Extreme(flags, "minShapes", inputs, std::min<int>);
  largest_ = Extreme(flags, "maxShapes", inputs, std::max<int>);
  const std::vector<std::string> choices = flags.All("optShapes");
  const size_t chosen = flags.Int("useProfile", 0);
  // Of a plan it is one of the plan's profiles.
  const bool of_plan = flags.IsGiven("loadEngine");
  Require(of_plan || chosen < std::max<size_t>(1, choices.size()), "--useProfile=", chosen,
          ": there are as many --optShapes as ", choices.size());
  if (!choices.empty()) {
    usual_ = ShapesOf("optShapes", choices[std::min(chosen, choices.size() - 1)], inputs);
  }
  if (flags.IsGiven("shapes")) run_ = ShapesOf("shapes", flags.Text("shapes"), inputs);
  RequireOrder("minShapes", smallest_, "optShapes", usual_);
  RequireOrder("minShapes", smallest_, "maxShapes", largest_);
  RequireOrder("optShapes", usual_, "maxShapes", largest_);
  RequireOrder("minShapes", smallest_, "shapes", run_);
  RequireOrder("shapes", run_, "maxShapes", largest_);
  run_.insert(usual_.begin(), usual_.end());
  if (run_.empty()) run_ = largest_;
  const Shapes most = Extreme(flags, "optShapes", inputs, std::max<int>);
  largest_.insert(most.begin(), most.end());
  largest_.insert(run_.begin(), run_.end());

  for (const char* flag : {"batch", "maxBatch"}) {
    Require(!is_explicit() || !flags.IsGiven(flag), "--", flag,
            " does not go with shapes, which have a batch: --shapes and --maxShapes say it");
  }
  if (flags.IsGiven("batch")) batch_ = flags.Int("batch", 1);
  max_batch_ = flags.IsGiven("maxBatch") ? flags.Int("maxBatch", 1) : std::max(1, batch_);
  Require(batch_ <= max_batch_, "--batch=", batch_, " is more than --maxBatch=", max_batch_);
}

std::vector<inference::ShapeProfile> ShapeFlags::Profiles() const {
  if (smallest_.empty()) return {};
  return {{smallest_, usual_.empty() ? run_ : usual_, largest_}};
}

void ShapeFlags::SetOn(inference::ExecutionContext* context) const {
  if (is_explicit()) {
    context->SetInputShapes(run_);
  } else if (batch_ > 0) {
    context->SetBatch(batch_);
  }
}

}  // namespace caffe::exec
