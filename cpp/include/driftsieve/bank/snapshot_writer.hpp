#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "driftsieve/feature/column.hpp"
#include "driftsieve/quantiles/bin_cutter.hpp"

namespace driftsieve {

// The output of take_snapshot(), feature after feature. Null pointers are skipped.
struct SnapshotArrays {
    std::span<const std::uint32_t> class_place;  // position of class c
    std::size_t n_bins = 0;
    std::size_t n_features = 0;
    double* weight = nullptr;          // C x p
    double* weight_squared = nullptr;  // C x p, of the rows that count in `weight`
    double* mean = nullptr;            // C x p
    double* centred_mean = nullptr;    // C x p, less a value that the classes share
    double* variance = nullptr;        // C x p
    double* bins = nullptr;            // p x K x C
    double* edges = nullptr;           // p x (K - 1)
    double* rank_error = nullptr;      // p
    double* design_effect = nullptr;   // p

    // The place of each feature that is read, if that is not its own number: features of a sparse
    // bank that never occurred share one place, which feature `shared` fills.
    std::span<const std::uint32_t> places = {};
    std::size_t shared = 0;

    std::size_t bins_to_cut() const { return bins == nullptr ? 0 : n_bins; }
    std::size_t n_read() const { return places.empty() ? n_features : places.size(); }
};

// Writes columns as a snapshot has them, with weights times `unit`. One for each thread.
class SnapshotWriter {
  public:
    SnapshotWriter(const SnapshotArrays& out, std::span<const ClassTotal> totals, double unit)
        : out_(out), totals_(totals), unit_(unit) {}

    // Feature i of those that are read.
    void write(const Column& column, std::size_t i) {
        write_at(column, out_.places.empty() ? i : out_.places[i]);
    }

    // Features [begin, end), which are alike.
    void fill(const Column& column, std::size_t begin, std::size_t end) {
        if (!out_.places.empty()) {
            if (begin <= out_.shared && out_.shared < end) write(column, out_.shared);
            return;
        }
        write(column, begin);
        for (std::size_t c = 0; c < n_classes(); ++c)
            for (double* of_class :
                 {out_.weight, out_.weight_squared, out_.mean, out_.centred_mean, out_.variance})
                if (of_class != nullptr) repeat(of_class + c * out_.n_features, 1, begin, end);
        if (out_.design_effect != nullptr) repeat(out_.design_effect, 1, begin, end);
        if (out_.bins == nullptr) return;
        repeat(out_.edges, n_edges(), begin, end);
        repeat(out_.bins, n_cells(), begin, end);
        repeat(out_.rank_error, 1, begin, end);
    }

  private:
    SnapshotArrays out_;
    std::span<const ClassTotal> totals_;
    double unit_;
    BinCutter cutter_;

    std::size_t n_classes() const { return out_.class_place.size(); }
    std::size_t n_edges() const { return out_.n_bins - 1; }
    std::size_t n_cells() const { return out_.n_bins * n_classes(); }

    void write_at(const Column& column, std::size_t i) {
        if (out_.weight != nullptr || out_.mean != nullptr) write_classes(column, i);
        if (out_.design_effect != nullptr) out_.design_effect[i] = design_effect(column);
        if (out_.bins == nullptr) return;
        out_.rank_error[i] =
            unit_ * cutter_.cut(column, {out_.class_place, out_.n_bins, unit_,
                                         out_.edges + i * n_edges(), out_.bins + i * n_cells()});
    }

    void write_classes(const Column& column, std::size_t i) {
        const double centre = centre_of(column.moments);
        for (std::size_t c = 0; c < n_classes(); ++c) {
            const Moments& moments = column.moments[c];
            const std::size_t at = out_.class_place[c] * out_.n_features + i;
            if (out_.weight != nullptr) {
                const double weight = observed(column, c);
                out_.weight[at] = weight * unit_;
                if (out_.weight_squared != nullptr)
                    out_.weight_squared[at] =
                        weight > 0.0 ? observed_squared(column, c) * unit_ * unit_ : 0.0;
            }
            if (out_.mean != nullptr) out_.mean[at] = moments.mean + moments.mean_rest;
            if (out_.centred_mean != nullptr)
                out_.centred_mean[at] = (moments.mean - centre) + moments.mean_rest;
            if (out_.variance != nullptr)
                out_.variance[at] = moments.weight > 0.0 ? moments.m2 / moments.weight : 0.0;
        }
    }

    // Weight of the rows of a class in which the feature was observed.
    double observed(const Column& column, std::size_t cls) const {
        return out_.mean != nullptr ? column.moments[cls].weight : column.weight(cls);
    }

    // Sum of squared weights of the rows of a class in which the feature was observed. If nearly
    // all values are missing, the difference is a rounding error. A bound of that error is returned
    // then, so that the effective number of rows is too small and never too large.
    double observed_squared(const Column& column, std::size_t cls) const {
        if (!column.observed_squared.empty()) return column.observed_squared[cls];
        const ClassTotal& total = totals_[cls];
        return std::max(total.weight_squared - column.missing_squared[cls],
                        rounding_of(total) * total.weight_squared);
    }

    // Bound of the error of a sum over the rows of a class, as a share of it.
    static double rounding_of(const ClassTotal& total) {
        constexpr double kLastDigit = std::numeric_limits<double>::epsilon() / 2;
        return kLastDigit * (4.0 + std::sqrt(static_cast<double>(total.rows)));
    }

    // Variance of q, the share of the weight in which a feature is not 0, relative to its variance
    // if k = 1. k is the sum of squares of these rows relative to that of random rows of their
    // classes.
    double design_effect(const Column& column) const {
        constexpr double kSmallest = 1e-12;
        double weight = 0.0;
        double not_0 = 0.0;
        double expected = 0.0;
        double rounding = 0.0;
        for (std::size_t c = 0; c < n_classes(); ++c) {
            const bool is_whole = column.missing[c] == 0.0;
            const double of_class = is_whole ? totals_[c].weight : observed(column, c);
            weight += of_class;
            not_0 += column.not_0[c];
            if (column.not_0[c] > 0.0)
                expected += observed_squared(column, c) * (column.not_0[c] / of_class);
            rounding += rounding_of(totals_[c]) * column.missing_squared[c];
        }
        const double q = not_0 / weight;
        if (!(q > 0.0 && 1.0 - q > kSmallest && expected > 0.0)) return 1.0;
        const double k =
            std::max(column.not_0_squared, std::min(rounding, not_0 * not_0)) / expected;
        return std::max(k * (1.0 - q) + q * (1.0 - k * q) / (1.0 - q), kSmallest);
    }

    // Copies row `begin` of a table to rows begin + 1 to end - 1: first one row, then twice as many
    // with every step.
    static void repeat(double* table, std::size_t width, std::size_t begin, std::size_t end) {
        double* first = table + begin * width;
        for (std::size_t done = 1; done < end - begin;) {
            const std::size_t more = std::min(done, end - begin - done);
            std::copy_n(first, more * width, first + done * width);
            done += more;
        }
    }

    // The mean of the heaviest class; 0 if the distance from it could overflow.
    static double centre_of(std::span<const Moments> classes) {
        const auto heaviest = std::max_element(
            classes.begin(), classes.end(),
            [](const Moments& a, const Moments& b) { return a.weight < b.weight; });
        return heaviest != classes.end() && std::abs(heaviest->mean) < 1e150 ? heaviest->mean : 0.0;
    }
};

}  // namespace driftsieve
