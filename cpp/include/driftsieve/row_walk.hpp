#pragma once

#include <cstddef>
#include <cstdint>

#include "driftsieve/rows.hpp"

namespace driftsieve {

// Somebody may be walking through a matrix, a row or a few at a time. Rows that begin where the
// last ones ended say so, and then memory is asked for those that will come next: it has them ready
// when the caller is back with them. What lies there is never looked at.
class RowWalk {
  public:
    template <class T>
    void step(const MatrixView<T>& rows) {
        const std::size_t size = rows.n_rows * rows.n_cols * sizeof(T);
        const auto width = static_cast<std::ptrdiff_t>(rows.n_cols);
        if (size > kMost || rows.col_stride != 1 || (rows.n_rows > 1 && rows.row_stride != width))
            return;
        const auto begin = reinterpret_cast<std::uintptr_t>(rows.data);
        const bool goes_on = begin == end_;
        end_ = begin + size;
        for (std::uintptr_t at = end_; goes_on && at < end_ + size; at += kCacheLine)
            __builtin_prefetch(reinterpret_cast<const void*>(at));
    }

  private:
    static constexpr std::size_t kCacheLine = 64;
    // Of more than this the processor sees for itself what comes next.
    static constexpr std::size_t kMost = std::size_t{1} << 14;

    std::uintptr_t end_ = 0;
};

}  // namespace driftsieve
