#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "driftsieve/base/fading.hpp"
#include "driftsieve/base/parallel.hpp"
#include "driftsieve/base/require.hpp"
#include "driftsieve/base/validate.hpp"
#include "driftsieve/base/views.hpp"
#include "driftsieve/dense/row_walk.hpp"
#include "driftsieve/kernels.hpp"
#include "driftsieve/memory/large_room.hpp"

namespace driftsieve {

// The rows of an incomplete block, as they came: rows x features, and the class, weight and time of
// each row.
class OpenRows {
  public:
    std::size_t size() const { return classes_.size(); }
    MatrixView<double> values(std::size_t n_features) const {
        return {values_.data(), static_cast<std::ptrdiff_t>(n_features), 1, size(), n_features};
    }
    RowInfo info() const { return {classes_, weights_, times_}; }
    // Calls use(info) with class_map[c] for class c.
    template <class Use>
    void with_classes(std::span<const std::uint32_t> class_map, const Use& use) const {
        std::vector<std::uint32_t> classes;
        for (const std::uint32_t cls : classes_) classes.push_back(class_map[cls]);
        use(RowInfo{classes, weights_, times_});
    }

    // Adds rows, at most `most` in total. If they must be finite and a value is not, it returns
    // false without a change. Rows that were already written to their place have been validated,
    // and are not read again.
    template <class T>
    bool append(const MatrixView<T>& rows, const RowInfo& info, std::size_t most,
                bool must_be_finite, unsigned n_threads) {
        const std::size_t n_values = (size() + rows.n_rows) * rows.n_cols;
        // Doubles, but never beyond a block. Unused pages take no memory, so the first capacity may
        // be large.
        if (n_values > values_.capacity())
            values_.reserve(std::clamp(std::max(2 * values_.capacity(), kFirstRoom), n_values,
                                       most * rows.n_cols));
        reached_ = std::max(reached_, n_values);
        if (!is_in_place(rows)) {
            const bool past_cache = most * rows.n_cols > kInCache;
            const bool finite =
                copy_rows(rows, values_.data() + values_.size(), past_cache, n_threads);
            walk_.step(rows);
            if (must_be_finite && !finite) return false;
        }
        values_.resize(n_values);
        if (!info.weights.empty() && weights_.empty()) weights_.assign(size(), 1.0);
        classes_.insert(classes_.end(), info.classes.begin(), info.classes.end());
        times_.insert(times_.end(), info.times.begin(), info.times.end());
        if (!info.weights.empty())
            weights_.insert(weights_.end(), info.weights.begin(), info.weights.end());
        else if (!weights_.empty())
            weights_.resize(size(), 1.0);
        return true;
    }

    // Where to write a future row: rows that are appended from there need no copy. `ahead` others
    // wait before it, `more` rows can wait in total.
    double* place(std::size_t ahead, std::size_t n_cols, std::size_t more) {
        // not with waiting rows, which would not be moved
        if (ahead == 0) values_.reserve((size() + more) * n_cols);
        reached_ = std::max(reached_, (size() + ahead + 1) * n_cols);
        return values_.data() + (size() + ahead) * n_cols;
    }

    void clear() {
        values_.clear();
        classes_.clear();
        weights_.clear();
        times_.clear();
    }

    // Removes the first n rows.
    void drop(std::size_t n) {
        const auto drop_from = [n](auto& items, std::size_t of_row) {
            items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(n * of_row));
        };
        drop_from(values_, values_.size() / size());
        drop_from(classes_, 1);
        if (!weights_.empty()) drop_from(weights_, 1);
        if (!times_.empty()) drop_from(times_, 1);
    }

    void shift_clock(double ticks) {
        for (double& t : times_) t += ticks;
    }

    // The same rows with column j moved to target[j] of n_features, the others NaN.
    OpenRows widened(std::span<const std::size_t> target, std::size_t n_features) const {
        OpenRows wide = filled(n_features, std::numeric_limits<double>::quiet_NaN());
        for (std::size_t i = 0; i < size(); ++i)
            for (std::size_t j = 0; j < target.size(); ++j)
                wide.values_[i * n_features + target[j]] = values_[i * target.size() + j];
        return wide;
    }

    // The same rows, columns [begin, begin + count) of n_features only.
    OpenRows cut(std::size_t begin, std::size_t count, std::size_t n_features) const {
        OpenRows part = filled(count, 0.0);
        for (std::size_t i = 0; i < size(); ++i)
            std::copy_n(values_.data() + i * n_features + begin, count,
                        part.values_.data() + i * count);
        return part;
    }

    std::size_t nbytes() const {
        return reached_ * sizeof(double) + classes_.capacity() * sizeof(std::uint32_t) +
               (weights_.capacity() + times_.capacity()) * sizeof(double);
    }

    bool has_weights() const { return !weights_.empty(); }

    // Upper bound of nbytes() for so many rows: vectors double.
    std::size_t most_bytes(std::size_t n_rows, std::size_t n_features) const {
        const std::size_t of_row = sizeof(std::uint32_t) + 2 * sizeof(double);
        return std::max(nbytes(), std::max(reached_, n_rows * n_features) * sizeof(double) +
                                      2 * of_row * n_rows);
    }

    template <class Archive>
    void archive(Archive& ar) {
        ar(values_, classes_, weights_, times_);
        if (values_.size() > reached_) reached_ = values_.size();  // storing writes nothing
    }

    // Validates a deserialized state; check_value(v) validates the values.
    template <class CheckValue>
    void check(std::size_t n_features, std::size_t n_classes, double now, const Fading& fading,
               const CheckValue& check_value) const {
        require(n_features == 0
                    ? values_.empty()
                    : values_.size() % n_features == 0 && values_.size() / n_features == size());
        require(weights_.empty() || weights_.size() == size());
        require(times_.size() == (fading.fades() ? size() : 0));
        for (const std::uint32_t cls : classes_) require(cls < n_classes);
        for (const double t : times_) {
            require(t <= now);
            fading.epoch_of(t);
        }
        for (const double w : weights_) require_weight(w);
        for (const double v : values_) check_value(v);
    }

  private:
    static constexpr std::size_t kFirstRoom = std::size_t{1} << 25;  // values
    // Values of a block that fit into a cache. A batch may be larger.
    static constexpr std::size_t kInCache = std::size_t{1} << 22;
    // Values that a thread copies at a time.
    static constexpr std::size_t kPart = std::size_t{1} << 14;

    LargeRoom<double> values_;
    std::size_t reached_ = 0;  // number of them that were ever written to
    RowWalk walk_;
    std::vector<std::uint32_t> classes_;
    std::vector<double> weights_;  // empty: all 1
    std::vector<double> times_;    // empty where nothing fades

    template <class T>
    bool is_in_place(const MatrixView<T>& rows) const {
        if constexpr (std::is_same_v<T, double>)
            return rows.data == values_.data() + values_.size();
        else
            return false;
    }

    // The same with several threads where there are many values.
    template <class T>
    static bool copy_rows(const MatrixView<T>& rows, double* to, bool past_cache,
                          unsigned n_threads) {
        const std::size_t chunk = kPart / std::max<std::size_t>(1, rows.n_cols) + 1;
        if (n_threads == 1 || rows.n_rows <= chunk) return copy(rows, to, past_cache);
        std::atomic<bool> finite = true;
        parallel_chunks(rows.n_rows, chunk, n_threads, [&](std::size_t lo, std::size_t hi) {
            if (!copy(rows.rows(lo, hi - lo), to + lo * rows.n_cols, past_cache)) finite = false;
        });
        return finite;
    }

    // Row after row; returns whether all values are finite.
    template <class T>
    static bool copy(const MatrixView<T>& rows, double* to, bool past_cache) {
        const std::size_t n_values = rows.n_rows * rows.n_cols;
        const auto width = static_cast<std::ptrdiff_t>(rows.n_cols);
        if (rows.n_rows > 1 && rows.col_stride == 1 && rows.row_stride == width)
            return copy(MatrixView<T>{rows.data, 0, 1, 1, n_values}, to,
                        past_cache);  // one long row
        bool finite = true;
        for (std::size_t i = 0; i < rows.n_rows; ++i, to += rows.n_cols) {
            if constexpr (std::is_same_v<T, double>) {
                if (rows.col_stride == 1) {
                    const auto by = past_cache ? kernels().copy_past_cache : kernels().copy_values;
                    finite = by(rows.row(i), rows.n_cols, to) && finite;
                    continue;
                }
            }
            for (std::size_t j = 0; j < rows.n_cols; ++j)
                to[j] = static_cast<double>(rows.at(i, j));
            finite = finite && !find_bad_value(MatrixView<double>{to, 0, 1, 1, rows.n_cols}, false);
        }
        return finite;
    }

    // The same rows with one value everywhere.
    OpenRows filled(std::size_t n_features, double value) const {
        OpenRows rows;
        rows.classes_ = classes_;
        rows.weights_ = weights_;
        rows.times_ = times_;
        rows.values_.assign(size() * n_features, value);
        rows.reached_ = rows.values_.size();
        return rows;
    }
};

}  // namespace driftsieve
