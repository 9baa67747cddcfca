#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "driftsieve/bin_cutter.hpp"
#include "driftsieve/column.hpp"

namespace driftsieve {

// Where freeze writes, feature after feature. Null pointers are left out.
struct SnapshotArrays {
    std::span<const std::uint32_t> class_place;  // where class c stands
    std::size_t n_bins = 0;
    std::size_t n_features = 0;
    double* weight = nullptr;        // C x p
    double* mean = nullptr;          // C x p
    double* centred_mean = nullptr;  // C x p, less a value that the classes share
    double* variance = nullptr;      // C x p
    double* bins = nullptr;          // p x K x C
    double* edges = nullptr;         // p x (K - 1)
    double* rank_error = nullptr;    // p
};

// Writes columns as a snapshot has them: weights times `unit`. Each thread has its own.
class SnapshotWriter {
  public:
    SnapshotWriter(const SnapshotArrays& out, double unit) : out_(out), unit_(unit) {}

    // Feature i of the snapshot.
    void write(const Column& column, std::size_t i) {
        if (out_.weight != nullptr || out_.mean != nullptr) write_classes(column, i);
        if (out_.bins == nullptr) return;
        out_.rank_error[i] =
            unit_ * cutter_.cut(column, {out_.class_place, out_.n_bins, unit_,
                                         out_.edges + i * n_edges(), out_.bins + i * n_cells()});
    }

    // Features [begin, end).
    void fill(const Column& column, std::size_t begin, std::size_t end) {
        write(column, begin);
        for (std::size_t c = 0; c < n_classes(); ++c)
            for (double* of_class : {out_.weight, out_.mean, out_.centred_mean, out_.variance})
                if (of_class != nullptr) repeat(of_class + c * out_.n_features, 1, begin, end);
        if (out_.bins == nullptr) return;
        repeat(out_.edges, n_edges(), begin, end);
        repeat(out_.bins, n_cells(), begin, end);
        repeat(out_.rank_error, 1, begin, end);
    }

  private:
    SnapshotArrays out_;
    double unit_;
    BinCutter cutter_;

    std::size_t n_classes() const { return out_.class_place.size(); }
    std::size_t n_edges() const { return out_.n_bins - 1; }
    std::size_t n_cells() const { return out_.n_bins * n_classes(); }

    void write_classes(const Column& column, std::size_t i) {
        const double centre = centre_of(column.moments);
        for (std::size_t c = 0; c < n_classes(); ++c) {
            const Moments& moments = column.moments[c];
            const std::size_t at = out_.class_place[c] * out_.n_features + i;
            if (out_.weight != nullptr)
                out_.weight[at] =
                    (out_.mean != nullptr ? moments.weight : column.weight(c)) * unit_;
            if (out_.mean != nullptr) out_.mean[at] = moments.mean + moments.mean_rest;
            if (out_.centred_mean != nullptr)
                out_.centred_mean[at] = (moments.mean - centre) + moments.mean_rest;
            if (out_.variance != nullptr)
                out_.variance[at] = moments.weight > 0.0 ? moments.m2 / moments.weight : 0.0;
        }
    }

    // Rows begin + 1 to end - 1 of a table become what row `begin` is: that, then twice as many
    // with every step.
    static void repeat(double* table, std::size_t width, std::size_t begin, std::size_t end) {
        double* first = table + begin * width;
        for (std::size_t done = 1; done < end - begin;) {
            const std::size_t more = std::min(done, end - begin - done);
            std::copy_n(first, more * width, first + done * width);
            done += more;
        }
    }

    // The mean of the heaviest class; 0 where the distance from it could overflow.
    static double centre_of(std::span<const Moments> classes) {
        const auto heaviest = std::max_element(
            classes.begin(), classes.end(),
            [](const Moments& a, const Moments& b) { return a.weight < b.weight; });
        return heaviest != classes.end() && std::abs(heaviest->mean) < 1e150 ? heaviest->mean : 0.0;
    }
};

}  // namespace driftsieve
