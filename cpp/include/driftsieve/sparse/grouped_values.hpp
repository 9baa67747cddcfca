#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/base/views.hpp"
#include "driftsieve/memory/large_room.hpp"
#include "driftsieve/sparse/row_shapes.hpp"

namespace driftsieve {

// Groups of neighbouring columns: column j is in group j >> shift.
struct ColumnGroups {
    std::size_t count;
    unsigned shift;

    // Groups of whole pages of `page` columns, a power of 2: one if there are not too many. Values
    // are written to all groups by turns, so these must be few enough for a near cache.
    static ColumnGroups of(std::size_t n_columns, std::size_t n_values, std::size_t page) {
        constexpr std::size_t kMost = 2048;
        const std::size_t most = std::clamp<std::size_t>(n_values / 4, 1, kMost);
        ColumnGroups groups{1, static_cast<unsigned>(std::countr_zero(page))};
        while (n_columns > most << groups.shift) ++groups.shift;
        groups.count = (n_columns + groups.width() - 1) / groups.width();
        return groups;
    }
    std::size_t width() const { return std::size_t{1} << shift; }
};

// A value of a sparse row. Its column counts from the first one of its group, and its row from the
// first one of its block.
struct GroupedValue {
    double value;
    std::uint32_t column;
    std::uint32_t row;
};

// Values ordered by group of columns, and in a group as they came: a stable counting sort.
class GroupedValues {
  public:
    // The values of rows, the first of which has the number `first_row`. Zeros are left out unless
    // they count.
    template <class Rows>
    void take(const Rows& rows, std::size_t first_row, bool zeros_count,
              const ColumnGroups& groups) {
        count(groups, [&rows, zeros_count](const auto use) {
            for_each_sparse_row(rows, zeros_count, [use](std::size_t, const auto& row) {
                const auto [values, columns, n, more, is_canonical] = row;
                for (std::size_t k = 0; k < n; ++k) use(static_cast<std::size_t>(columns[k]));
            });
        });
        place(groups, [&rows, first_row, zeros_count](const auto use) {
            for_each_sparse_row(rows, zeros_count, [=](std::size_t i, const auto& row) {
                const auto [values, columns, n, more, is_canonical] = row;
                const auto number = static_cast<std::uint32_t>(first_row + i);
                for (std::size_t k = 0; k < n; ++k) {
                    const double value = static_cast<double>(values[k]) + 0.0;  // -0 becomes 0
                    if (std::bit_cast<std::uint64_t>(value) != 0 || zeros_count)
                        use(value, static_cast<std::size_t>(columns[k]), number);
                }
            });
        });
    }
    // The values of a group in smaller groups.
    void take(std::span<const GroupedValue> values, const ColumnGroups& groups) {
        count(groups, [values](const auto use) {
            for (const GroupedValue& value : values) use(value.column);
        });
        place(groups, [values](const auto use) {
            for (const auto& [value, column, row] : values) use(value, column, row);
        });
    }

    // Valid until the next call of take().
    std::span<const GroupedValue> of(std::size_t group) const {
        return std::span(values_).subspan(begin_[group], end_[group] - begin_[group]);
    }

  private:
    std::vector<std::size_t> begin_;  // by group
    std::vector<std::size_t> end_;
    LargeRoom<GroupedValue> values_;

    // for_each(use) calls use(column) for all values, and for zeros that are left out later. It
    // gets copies of pointers: what a lambda refers to would be loaded again after every value.
    template <class ForEach>
    void count(const ColumnGroups& groups, const ForEach& for_each) {
        begin_.assign(groups.count + 1, 0);
        for_each([n = begin_.data() + 1, shift = groups.shift](std::size_t column) {
            ++n[column >> shift];
        });
        for (std::size_t g = 1; g < begin_.size(); ++g) begin_[g] += begin_[g - 1];
        if (values_.capacity() < begin_.back()) {
            values_ = {};  // nothing of it is needed
            values_.reserve(std::bit_ceil(begin_.back()));
        }
        values_.resize(begin_.back());
    }

    // for_each(use) calls use(value, column, row) for the values.
    template <class ForEach>
    void place(const ColumnGroups& groups, const ForEach& for_each) {
        end_.assign(begin_.begin(), begin_.end() - 1);
        for_each(
            [to = values_.data(), end = end_.data(), shift = groups.shift,
             in_group = groups.width() - 1](double value, std::size_t column, std::uint32_t row) {
                to[end[column >> shift]++] = {value, static_cast<std::uint32_t>(column & in_group),
                                              row};
            });
    }
};

// Number of values of rows [begin, end), at most.
template <class T>
std::size_t count_values(const MatrixView<T>& rows, std::size_t begin, std::size_t end) {
    return (end - begin) * rows.n_cols;
}
template <class T, class Index>
std::size_t count_values(const CsrView<T, Index>& rows, std::size_t begin, std::size_t end) {
    return static_cast<std::size_t>(rows.indptr[end] - rows.indptr[begin]);
}

// The last of the rows from `begin` to `end` that together have at most so many values, or one row.
template <class Rows>
std::size_t end_of_values(const Rows& rows, std::size_t begin, std::size_t end, std::size_t most) {
    std::size_t least = begin + 1;
    while (least < end) {
        const std::size_t middle = least + (end - least + 1) / 2;
        if (count_values(rows, begin, middle) <= most)
            least = middle;
        else
            end = middle - 1;
    }
    return least;
}

}  // namespace driftsieve
