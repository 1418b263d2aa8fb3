#include "caffe/util/label_map.hpp"

#include <fstream>

#include "caffe/util/io.hpp"
#include "caffe/util/string_stream.hpp"
#include "caffe/util/text_file.hpp"

namespace caffe {
namespace {

/// Puts key(item) -> value(item) of all items into `to`; later items win.
template <typename Key, typename Value, typename GetKey, typename GetValue>
bool MapItems(const LabelMap& map, bool strict, GetKey&& key, GetValue&& value,
              std::map<Key, Value>* to) {
  for (const LabelMapItem& item : map.item()) {
    if (!to->insert_or_assign(key(item), value(item)).second && strict) {
      LOG(WARNING) << "There are many duplicates of " << key(item) << " in the label map";
      return false;
    }
  }
  return true;
}

const string& ItemName(const LabelMapItem& item) { return item.name(); }
const string& ItemDisplayName(const LabelMapItem& item) { return item.display_name(); }
int ItemLabel(const LabelMapItem& item) { return item.label(); }

}  // namespace

bool MapNameToLabel(const LabelMap& map, const bool strict_check,
                    std::map<string, int>* name_to_label) {
  return MapItems(map, strict_check, ItemName, ItemLabel, name_to_label);
}

bool MapLabelToName(const LabelMap& map, const bool strict_check,
                    std::map<int, string>* label_to_name) {
  return MapItems(map, strict_check, ItemLabel, ItemName, label_to_name);
}

bool MapLabelToDisplayName(const LabelMap& map, const bool strict_check,
                           std::map<int, string>* label_to_display_name) {
  return MapItems(map, strict_check, ItemLabel, ItemDisplayName, label_to_display_name);
}

LabelMap ReadLabelMap(const string& file) {
  LabelMap map;
  ReadProtoFromTextFileOrDie(file, &map);
  return map;
}

vector<NamedSize> ReadNameSizeFile(const string& file) {
  std::ifstream stream = OpenTextFile(file);
  vector<NamedSize> sizes;
  int number = 0;
  for (string line; std::getline(stream, line);) {
    ++number;
    StringReader words(line);
    NamedSize size;
    if (!(words >> size.name)) continue;
    Require((words >> size.height >> size.width) && size.height > 0 && size.width > 0,
            Error::File{file}, ", line ", number, ": '", line,
            "' is not a name, a height and a width");
    sizes.push_back(size);
  }
  return sizes;
}

}  // namespace caffe
