#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "driftsieve/column.hpp"

namespace driftsieve {

// Weight of each class that may lie at or below each edge beyond what the bins count there: what
// the first entry above the edge hides (docs/guarantees.md). `out` is edges x classes, multiplied
// by `unit`, class c at class_place[c].
inline void write_hidden(const Column& column, std::span<const double> edges,
                         std::span<const std::uint32_t> class_place, double unit, double* out) {
    for (std::size_t c = 0; c < column.entries.size(); ++c) {
        const Entries& entries = column.entries[c];
        auto above = entries.begin();
        for (std::size_t k = 0; k < edges.size(); ++k) {
            above = std::upper_bound(above, entries.end(), edges[k],
                                     [](double v, const Entry& entry) { return v < entry.value; });
            out[k * column.entries.size() + class_place[c]] =
                above == entries.end() ? 0.0 : above->hidden * unit;
        }
    }
}

}  // namespace driftsieve
