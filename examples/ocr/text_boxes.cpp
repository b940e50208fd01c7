// SPDX-License-Identifier: Apache-2.0
#include "text_boxes.h"

#include <algorithm>
#include <cmath>

namespace {

struct Rectangle {  // turned: centre, half sides along (cos, sin) and across
  float cx, cy, half_long, half_across, angle;
};

float cross(Point o, Point a, Point b) {
  return (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x);
}

/// Andrew's monotone chain.
std::vector<Point> convex_hull(std::vector<Point> points) {
  std::sort(points.begin(), points.end(),
            [](Point a, Point b) { return a.x < b.x || (a.x == b.x && a.y < b.y); });
  std::vector<Point> hull(points.size() * 2);
  size_t k = 0;
  for (size_t pass = 0; pass < 2; pass++) {
    const size_t start = k;
    for (Point p : points) {
      while (k >= start + 2 && cross(hull[k - 2], hull[k - 1], p) <= 0) k--;
      hull[k++] = p;
    }
    k--;
    std::reverse(points.begin(), points.end());
  }
  hull.resize(std::max<size_t>(k, 1));
  return hull;
}

/// The rectangle of least area that has a side along one of the hull's edges.
Rectangle smallest_rectangle(const std::vector<Point>& hull) {
  Rectangle best{hull[0].x, hull[0].y, 0, 0, 0};
  float best_area = -1;
  for (size_t i = 0; i < hull.size(); i++) {
    const Point a = hull[i], b = hull[(i + 1) % hull.size()];
    const float length = std::hypot(b.x - a.x, b.y - a.y);
    const float ux = length > 0 ? (b.x - a.x) / length : 1,
                uy = length > 0 ? (b.y - a.y) / length : 0;
    float lo_u = 1e30f, hi_u = -1e30f, lo_v = 1e30f, hi_v = -1e30f;
    for (Point p : hull) {
      const float u = p.x * ux + p.y * uy, v = p.y * ux - p.x * uy;
      lo_u = std::min(lo_u, u), hi_u = std::max(hi_u, u), lo_v = std::min(lo_v, v),
      hi_v = std::max(hi_v, v);
    }
    const float area = (hi_u - lo_u) * (hi_v - lo_v);
    if (best_area >= 0 && area >= best_area) continue;
    best_area = area;
    const float mu = (lo_u + hi_u) / 2, mv = (lo_v + hi_v) / 2;
    best = {mu * ux - mv * uy, mu * uy + mv * ux, (hi_u - lo_u) / 2, (hi_v - lo_v) / 2,
            std::atan2(uy, ux)};
  }
  // Text runs along the x axis: bring the angle into (-45, 45] degrees.
  const float quarter = static_cast<float>(M_PI) / 2;
  while (best.angle > quarter / 2)
    best.angle -= quarter, std::swap(best.half_long, best.half_across);
  while (best.angle <= -quarter / 2)
    best.angle += quarter, std::swap(best.half_long, best.half_across);
  return best;
}

Quad corners(const Rectangle& r) {
  const float c = std::cos(r.angle), s = std::sin(r.angle);
  Quad q{};
  const float sign[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
  for (int i = 0; i < 4; i++) {
    const float u = sign[i][0] * r.half_long, v = sign[i][1] * r.half_across;
    q.corner[i] = {r.cx + u * c - v * s, r.cy + u * s + v * c};
  }
  return q;
}

/// Mean of the map over the pixels whose centres lie inside.
float score_inside(const float* map, int width, int height, const Rectangle& r) {
  const float c = std::cos(r.angle), s = std::sin(r.angle),
              reach = std::hypot(r.half_long, r.half_across);
  double sum = 0;
  int count = 0;
  for (int y = std::max(0, static_cast<int>(r.cy - reach));
       y <= std::min(height - 1, static_cast<int>(r.cy + reach)); y++)
    for (int x = std::max(0, static_cast<int>(r.cx - reach));
         x <= std::min(width - 1, static_cast<int>(r.cx + reach)); x++) {
      const float dx = static_cast<float>(x) - r.cx, dy = static_cast<float>(y) - r.cy;
      if (std::fabs(dx * c + dy * s) > r.half_long || std::fabs(dy * c - dx * s) > r.half_across)
        continue;
      sum += map[static_cast<size_t>(y) * width + x], count++;
    }
  return count ? static_cast<float>(sum / count) : 0;
}

/// Pixels of each 8-connected region over the threshold, by flood fill.
std::vector<std::vector<Point>> regions(const float* map, int width, int height, float threshold) {
  std::vector<uint8_t> seen(static_cast<size_t>(width) * height);
  std::vector<std::vector<Point>> out;
  std::vector<int> stack;
  for (int start = 0; start < width * height; start++) {
    if (seen[start] || map[start] <= threshold) continue;
    out.emplace_back();
    seen[start] = 1, stack.push_back(start);
    while (!stack.empty()) {
      const int at = stack.back(), x = at % width, y = at / width;
      stack.pop_back();
      out.back().push_back({static_cast<float>(x), static_cast<float>(y)});
      for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
          const int nx = x + dx, ny = y + dy, next = ny * width + nx;
          if (nx < 0 || ny < 0 || nx >= width || ny >= height || seen[next] ||
              map[next] <= threshold)
            continue;
          seen[next] = 1, stack.push_back(next);
        }
    }
  }
  return out;
}

}  // namespace

std::vector<TextBox> find_text_boxes(const float* probability, int width, int height,
                                     const BoxOptions& options) {
  std::vector<TextBox> boxes;
  for (std::vector<Point>& region : regions(probability, width, height, options.threshold)) {
    Rectangle r = smallest_rectangle(convex_hull(std::move(region)));
    if (2 * std::min(r.half_long, r.half_across) < static_cast<float>(options.smallest_side))
      continue;
    const float score = score_inside(probability, width, height, r);
    if (score < options.box_threshold) continue;
    const float grow =
        r.half_long * r.half_across * options.grow_ratio / (r.half_long + r.half_across);
    r.half_long += grow, r.half_across += grow;
    boxes.push_back({corners(r), score});
  }
  // Reading order: lines from the top; boxes whose tops are within half a line height count as one
  // line, left to right.
  std::sort(boxes.begin(), boxes.end(), [](const TextBox& a, const TextBox& b) {
    return a.quad.corner[0].y < b.quad.corner[0].y;
  });
  for (size_t i = 1; i < boxes.size(); i++)
    for (size_t j = i; j > 0; j--) {
      const Point a = boxes[j - 1].quad.corner[0], b = boxes[j].quad.corner[0];
      const float line = boxes[j].quad.corner[3].y - b.y;
      if (std::fabs(a.y - b.y) < line / 2 && b.x < a.x) std::swap(boxes[j - 1], boxes[j]);
    }
  return boxes;
}
