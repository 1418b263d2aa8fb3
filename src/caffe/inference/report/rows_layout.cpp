// Layout without Graphviz: rows from top to bottom (Sugiyama's scheme). An arrow that skips rows
// gets a bend in each, which keeps boxes out of its way.
#include <algorithm>

#include "drawing.hpp"

namespace caffe::inference {
namespace {

constexpr double kGap = 18, kRowGap = 30, kDrawingMargin = 12;
constexpr double kBendWidth = 8;
constexpr int kOrderSweeps = 6, kPlaceSweeps = 10;

/// A box, or a bend of an arrow.
struct Item {
  int row = 0;
  double width = kBendWidth, x = 0;
  std::vector<int> above, below;  // items
};

using ItemRow = std::vector<int>;

class RowLayout {
 public:
  explicit RowLayout(Drawing* drawing) : drawing_(*drawing), items_(drawing->boxes.size()) {}

  void Run() {
    if (drawing_.boxes.empty()) return;
    FindRows();
    AddBends();
    for (size_t i = 0; i < items_.size(); ++i) {
      rows_.resize(std::max(rows_.size(), size_t(items_[i].row) + 1));
      rows_[items_[i].row].push_back(static_cast<int>(i));
    }
    Order();
    Place();
    Write();
  }

 private:
  void FindRows() {
    const auto& arrows = drawing_.arrows;
    std::vector<std::vector<int>> before(items_.size()), behind(items_.size());
    for (const Arrow& arrow : arrows) {
      before[arrow.to].push_back(arrow.from);
      behind[arrow.from].push_back(arrow.to);
    }
    for (size_t i = 0; i < items_.size(); ++i) {
      items_[i].width = drawing_.boxes[i].width;
      for (const int from : before[i]) {
        items_[i].row = std::max(items_[i].row, items_[from].row + 1);
      }
    }
    // Boxes without predecessors are right above their first reader: constants at their layers.
    for (size_t i = 0; i < items_.size(); ++i) {
      if (!before[i].empty() || behind[i].empty()) continue;
      int first = items_[behind[i][0]].row;
      for (const int to : behind[i]) first = std::min(first, items_[to].row);
      items_[i].row = first - 1;
    }
  }

  void AddBends() {
    for (const Arrow& arrow : drawing_.arrows) {
      std::vector<int> way = {arrow.from};
      for (int row = items_[arrow.from].row + 1; row < items_[arrow.to].row; ++row) {
        way.push_back(static_cast<int>(items_.size()));
        items_.emplace_back();
        items_.back().row = row;
      }
      way.push_back(arrow.to);
      for (size_t i = 1; i < way.size(); ++i) {
        items_[way[i - 1]].below.push_back(way[i]);
        items_[way[i]].above.push_back(way[i - 1]);
      }
      ways_.push_back(std::move(way));
    }
  }

  static double Mean(const std::vector<int>& items, const std::vector<double>& of, double none) {
    if (items.empty()) return none;
    double sum = 0;
    for (const int item : items) sum += of[item];
    return sum / static_cast<double>(items.size());
  }

  /// Rows one after the other, down or up.
  template <typename F>
  void Sweep(bool down, F f) {
    for (size_t i = 0; i < rows_.size(); ++i) f(&rows_[down ? i : rows_.size() - 1 - i]);
  }

  /// Items stand in the order of the mean places of their neighbours, so that few arrows cross.
  void Order() {
    std::vector<double> place(items_.size());
    const auto number = [&](const ItemRow& row) {
      for (size_t i = 0; i < row.size(); ++i) {
        place[row[i]] = (static_cast<double>(i) + 0.5) / static_cast<double>(row.size());
      }
    };
    for (const ItemRow& row : rows_) number(row);
    for (int sweep = 0; sweep < kOrderSweeps; ++sweep) {
      const bool down = sweep % 2 == 0;
      Sweep(down, [&](ItemRow* row) {
        std::vector<double> wanted(items_.size());
        for (const int i : *row) {
          wanted[i] = Mean(down ? items_[i].above : items_[i].below, place, place[i]);
        }
        std::stable_sort(row->begin(), row->end(),
                         [&](int a, int b) { return wanted[a] < wanted[b]; });
        number(*row);
      });
    }
  }

  double Distance(int left, int right) const {
    return (items_[left].width + items_[right].width) / 2 + kGap;
  }

  /// Where items want to be, moved apart as far as they have to: the mean of what pushing to the
  /// right and pushing to the left give.
  void Spread(const ItemRow& row, const std::vector<double>& wanted) {
    std::vector<double> right(row.size()), left(row.size());
    for (size_t i = 0; i < row.size(); ++i) {
      right[i] = wanted[row[i]];
      if (i > 0) right[i] = std::max(right[i], right[i - 1] + Distance(row[i - 1], row[i]));
    }
    for (size_t i = row.size(); i-- > 0;) {
      left[i] = wanted[row[i]];
      if (i + 1 < row.size())
        left[i] = std::min(left[i], left[i + 1] - Distance(row[i], row[i + 1]));
    }
    for (size_t i = 0; i < row.size(); ++i) items_[row[i]].x = (right[i] + left[i]) / 2;
  }

  void Place() {
    std::vector<double> x(items_.size(), 0);
    for (int sweep = 0; sweep < kPlaceSweeps; ++sweep) {
      const bool down = sweep % 2 == 0;
      Sweep(down, [&](ItemRow* row) {
        std::vector<double> wanted(items_.size());
        for (const int i : *row) {
          wanted[i] = Mean(down ? items_[i].above : items_[i].below, x, x[i]);
        }
        Spread(*row, wanted);
        for (const int i : *row) x[i] = items_[i].x;
      });
    }
  }

  double Height(const ItemRow& row) const {
    double height = 0;
    for (const int i : row) {
      if (size_t(i) < drawing_.boxes.size()) height = std::max(height, drawing_.boxes[i].height);
    }
    return height;
  }

  void Write() {
    double left = items_[0].x, right = left;
    for (const Item& item : items_) {
      left = std::min(left, item.x - item.width / 2);
      right = std::max(right, item.x + item.width / 2);
    }
    drawing_.width = right - left + 2 * kDrawingMargin;
    std::vector<double> y;
    double top = kDrawingMargin;
    for (const ItemRow& row : rows_) {
      y.push_back(top + Height(row) / 2);
      top += Height(row) + kRowGap;
    }
    drawing_.height = top - kRowGap + kDrawingMargin;
    for (Item& item : items_) item.x += kDrawingMargin - left;
    for (size_t i = 0; i < drawing_.boxes.size(); ++i) {
      drawing_.boxes[i].x = items_[i].x;
      drawing_.boxes[i].y = y[items_[i].row];
    }
    for (size_t i = 0; i < ways_.size(); ++i) WriteArrow(ways_[i], y, &drawing_.arrows[i]);
  }

  void WriteArrow(const std::vector<int>& way, const std::vector<double>& y, Arrow* arrow) const {
    const Box& from = drawing_.boxes[arrow->from];
    const Box& to = drawing_.boxes[arrow->to];
    arrow->curve = {{from.x, from.y + from.height / 2}};
    for (size_t i = 1; i < way.size(); ++i) {
      const Point last = arrow->curve.back();
      Point next = {items_[way[i]].x, y[items_[way[i]].row]};
      if (i + 1 == way.size()) next.y = to.y - to.height / 2;
      const double middle = (last.y + next.y) / 2;
      arrow->curve.insert(arrow->curve.end(), {{last.x, middle}, {next.x, middle}, next});
    }
  }

  Drawing& drawing_;
  std::vector<Item> items_;  // boxes, then bends
  std::vector<ItemRow> rows_;
  std::vector<std::vector<int>> ways_;  // items of each arrow
};

}  // namespace

void PlaceInRows(Drawing* drawing) { RowLayout(drawing).Run(); }

}  // namespace caffe::inference
