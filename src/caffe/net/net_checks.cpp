#include "net_checks.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/operation.hpp"
#include "caffe/util/text/edit_distance.hpp"

namespace caffe {
namespace {

template <typename Names>
bool Lists(const Names& names, const string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The layers from `from` to `to` by way of tops and bottoms, whatever their order in the file;
/// empty if there is no way.
vector<int> FindPath(const NetParameter& net, int from, int to) {
  vector<int> before(net.layer_size(), -1);
  vector<int> queue = {from};
  for (size_t head = 0; head < queue.size(); ++head) {
    for (int next = 0; next < net.layer_size(); ++next) {
      if (before[next] >= 0 || next == from) continue;
      const auto& tops = net.layer(queue[head]).top();
      const auto& bottoms = net.layer(next).bottom();
      if (!std::any_of(tops.begin(), tops.end(),
                       [&](const string& top) { return Lists(bottoms, top); })) {
        continue;
      }
      before[next] = queue[head];
      queue.push_back(next);
    }
  }
  if (before[to] < 0) return {};
  vector<int> path = {to};
  while (path.back() != from) path.push_back(before[path.back()]);
  std::reverse(path.begin(), path.end());
  return path;
}

/// True if the layer makes the blob: one that writes over it in place has to be given it.
bool Makes(const LayerParameter& layer, const string& blob) {
  return Lists(layer.top(), blob) && !Lists(layer.bottom(), blob);
}

/// What may have been meant by a bottom that no earlier layer makes, and what to do.
string ExplainUnknown(const NetParameter& net, const NetParameter& unfiltered, int reader,
                      const string& blob, const vector<string>& known) {
  for (int maker = reader + 1; maker < net.layer_size(); ++maker) {
    if (!Makes(net.layer(maker), blob)) continue;
    const vector<int> path = FindPath(net, reader, maker);
    if (path.empty()) {
      return Join("layer '", net.layer(maker).name(),
                  "' makes it, but stands after its reader: move it before");
    }
    string cycle;
    for (const int layer : path) cycle += net.layer(layer).name() + " -> ";
    return Join("the layers form a cycle, and nets must not: ", cycle, net.layer(reader).name());
  }
  for (const LayerParameter& layer : unfiltered.layer()) {
    if (!Makes(layer, blob)) continue;
    return Join("layer '", layer.name(),
                "' would make it, but its include and exclude rules leave it out in phase ",
                Phase_Name(net.state().phase()));
  }
  const string nearest = DidYouMean(blob, known);
  return Join("no layer makes it", nearest.empty() ? ": give it an Input or data layer" : nearest);
}

/// Throws an Error with this message, which has all of the parts in its own way.
[[noreturn]] void FailAt(const LayerParameter& layer, const char* field, const string& remedy,
                         const string& message) {
  Error error(message);
  error.Note(Error::Layer{layer.name()});
  error.Note(Error::Field{field});
  error.Note(Error::Remedy{remedy});
  throw error;
}

/// Goes through the layers in order and knows what they have made so far.
class Connector {
 public:
  Connector(const NetParameter& net, const NetParameter& unfiltered)
      : net_(net), unfiltered_(unfiltered) {}

  void Add(int index) {
    const LayerParameter& layer = net_.layer(index);
    for (int i = 0; i < layer.bottom_size(); ++i) CheckBottom(index, i);
    for (int i = 0; i < layer.top_size(); ++i) CheckTop(layer, i);
    Require(layer.propagate_down_size() == 0 || layer.propagate_down_size() == layer.bottom_size(),
            "layer '", Error::Layer{layer.name()}, "' (", layer.type(),
            "): ", Error::Field{"propagate_down"}, " is given ", layer.propagate_down_size(),
            " time(s) for ", layer.bottom_size(), " bottom(s)",
            Error::Remedy{"give it once per bottom, or not at all"});
    if (!names_.insert(layer.name()).second) {
      LOG(WARNING) << Describe(layer) << ": another layer has this name, so that trained weights "
                   << "and look-ups by name reach the last one only";
    }
  }

 private:
  void CheckBottom(int index, int bottom) {
    const LayerParameter& layer = net_.layer(index);
    const string& blob = layer.bottom(bottom);
    if (!readers_.count(blob)) {
      vector<string> known;
      for (const auto& entry : readers_) known.push_back(entry.first);
      const string remedy = ExplainUnknown(net_, unfiltered_, index, blob, known);
      FailAt(layer, "bottom", remedy,
             Join("Unknown bottom blob '", blob, "' (layer '", layer.name(), "', bottom index ",
                  bottom, "): ", remedy));
    }
    readers_[blob].push_back(layer.name());
  }

  void CheckTop(const LayerParameter& layer, int top) {
    const string& blob = layer.top(top);
    if (top < layer.bottom_size() && layer.bottom(top) == blob) {
      CheckInPlace(layer, top);
    } else if (readers_.count(blob)) {
      const string rename =
          Join("Rename one of them",
               Lists(layer.bottom(), blob) ? " (only top i can overwrite bottom i)" : "");
      FailAt(layer, "top", rename,
             Join("Top blob '", blob, "' produced by multiple sources: ", Describe(layer),
                  " and layer '", makers_[blob], "'. ", rename));
    }
    readers_[blob].clear();
    makers_[blob] = layer.name();
  }

  void CheckInPlace(const LayerParameter& layer, int top) {
    const string& blob = layer.bottom(top);
    const Operation* operation = OperationTable::Find(layer.type());
    // People write convolutions in place; Caffe's result is then that of a blob of its own, which
    // the net makes (Net::WorksInPlace).
    const bool moved = layer.type() == "Convolution";
    LOG_IF(WARNING, moved) << Describe(layer) << " writes over its bottom '" << blob
                           << "': the net keeps both, as if the top had another name";
    Require(moved || !operation || (operation->in_place && (top == 0 || operation->any_in_place)),
            "layer '", Error::Layer{layer.name()}, "' (", layer.type(), ") cannot work in place",
            Error::Remedy{Join("give its top another name than its bottom '", blob, "'")});
    const vector<string>& readers = readers_[blob];  // this layer itself is the last
    Require(readers.size() == 1, "layer '", Error::Layer{layer.name()}, "' (", layer.type(),
            ") would overwrite blob '", blob, "', which layer '", readers.front(), "' reads too",
            Error::Remedy{"give its top a name of its own"});
  }

  const NetParameter& net_;
  const NetParameter& unfiltered_;
  std::map<string, vector<string>> readers_;  // of the newest blob of each name
  std::map<string, string> makers_;
  std::set<string> names_;
};

}  // namespace

std::string Describe(const LayerParameter& layer) {
  return Join("layer '", layer.name(), "' (", layer.type(), ")");
}

void CheckConnections(const NetParameter& net, const NetParameter& unfiltered) {
  Require(unfiltered.layer_size() > 0, "the net '", net.name(), "' has no layers");
  Require(net.layer_size() > 0, "the net '", net.name(), "' has no layers in phase ",
          Phase_Name(net.state().phase()), ": include and exclude rules leave out all ",
          unfiltered.layer_size());
  Connector connector(net, unfiltered);
  for (int i = 0; i < net.layer_size(); ++i) connector.Add(i);
}

void CheckMultipliers(const LayerParameter& layer) {
  const auto check = [](const char* field, float value) {
    Require(std::isfinite(value), Error::Field{field}, " is ", value,
            Error::Remedy{"give a finite number"});
  };
  for (const ParamSpec& spec : layer.param()) {
    check("lr_mult", spec.lr_mult());
    check("decay_mult", spec.decay_mult());
  }
  for (const float weight : layer.loss_weight()) check("loss_weight", weight);
}

void RequireDistinctNames(const vector<string>& layers, const string& of_which,
                          const string& remedy) {
  set<string> seen;
  for (const string& name : layers) {
    Require(seen.insert(name).second, "layer '", Error::Layer{name},
            "': there are two layers of this name, of which ", of_which, Error::Remedy{remedy});
  }
}

void RequireNamesForHdf5(const vector<string>& layers) {
  RequireDistinctNames(layers, "an HDF5 file can hold one",
                       "rename one of them, or set snapshot_format: BINARYPROTO");
}

}  // namespace caffe
