#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "driftsieve/feature/open_column.hpp"
#include "driftsieve/quantiles/cut_target.hpp"
#include "driftsieve/quantiles/edge_goal.hpp"

namespace driftsieve {

// Cuts a feature with open rows into quantile bins, exactly for the known values: it finds the
// buckets with the edges, and sorts only their members.
class BucketCutter {
  public:
    // Returns a bound of the error of ranks.
    double cut(const OpenValues& open, const CutTarget& out) {
        const Buckets& buckets = open.column.buckets();
        out.clear();
        buckets.totals(totals_);
        below_.resize(buckets.size() + 1);
        below_[0] = 0.0;
        for (std::size_t b = 0; b < buckets.size(); ++b) below_[b + 1] = below_[b] + totals_[b];
        const double total = below_.back();
        if (total == 0.0) return 0.0;
        Progress progress{0, edge_goal(0, total, out.n_bins), total};
        std::size_t next = 0;  // the first bucket that is not in a bin yet
        while (progress.edge < out.n_edges()) {
            const auto first = below_.begin() + static_cast<std::ptrdiff_t>(next) + 1;
            const auto at = std::lower_bound(first, below_.end(), progress.goal);
            if (at == below_.end()) break;  // a goal beyond the range of double
            const auto b = static_cast<std::size_t>(at - below_.begin()) - 1;
            add_buckets(buckets, next, b, progress.edge, out);
            if (buckets.is_single(b)) {
                add_buckets(buckets, b, b + 1, progress.edge, out);
                progress.reach(below_[b + 1], buckets.end(b), out);
            } else {
                cut_bucket(open, b, progress, out);
            }
            next = b + 1;
        }
        add_buckets(buckets, next, buckets.size(), progress.edge, out);
        out.scale();
        return open.column.hidden();
    }

  private:
    struct Progress {
        std::size_t edge;  // the next one
        double goal;
        double total;

        void reach(double weight, double value, const CutTarget& out) {
            while (edge < out.n_edges() && weight >= goal) {
                out.edges[edge++] = value + 0.0;  // -0 becomes 0
                goal = edge_goal(edge, total, out.n_bins);
            }
        }
    };

    // An open row.
    struct Member {
        double value;
        std::uint32_t row;
        bool operator<(const Member& other) const {
            return value < other.value || (value == other.value && row < other.row);
        }
    };

    std::vector<double> totals_;
    std::vector<double> below_;
    Room<Member> members_;
    Room<std::uint32_t> found_;

    static void add_buckets(const Buckets& buckets, std::size_t begin, std::size_t end,
                            std::size_t bin, const CutTarget& out) {
        if (begin == end) return;
        for (std::size_t c = 0; c < buckets.n_classes(); ++c)
            out.at(bin, c) += buckets.sum(c, begin, end);
    }

    // The values of the state in bucket b, which is sorted, and its open rows, value by value.
    void cut_bucket(const OpenValues& open, std::size_t b, Progress& progress,
                    const CutTarget& out) {
        gather(open, b);
        HeldValues held = open.column.held(b);
        const double factor = open.column.factor();
        double reached = below_[b];
        const Member* member = members_.data();
        const Member* const end = member + members_.size();
        while (member != end || !held.empty()) {
            const double value = member == end ? held.next() : std::min(held.next(), member->value);
            double* bin = out.bins + progress.edge * out.n_classes();
            // equal values stay in one bin
            for (; member != end && member->value == value; ++member) {
                const double weight = open.rows.weight(member->row);
                bin[out.class_place[open.rows.cls(member->row)]] += weight;
                reached += weight;
            }
            if (held.next() == value)
                held.take([&](std::size_t cls, double weight) {
                    bin[out.class_place[cls]] += weight * factor;
                    reached += weight * factor;
                });
            // the last edge includes everything, despite rounding
            const bool is_last = member == end && held.empty();
            progress.reach(is_last ? below_[b + 1] : reached, value, out);
            if (below_[b + 1] < progress.goal || progress.edge == out.n_edges()) break;
        }
        // no edges are left
        double* bin = out.bins + progress.edge * out.n_classes();
        for (; member != end; ++member)
            bin[out.class_place[open.rows.cls(member->row)]] += open.rows.weight(member->row);
        held.take_all(
            [&](std::size_t cls, double weight) { bin[out.class_place[cls]] += weight * factor; });
    }

    // The open rows in bucket b, sorted; equal values in the order of their rows.
    void gather(const OpenValues& open, std::size_t b) {
        const std::span<const std::uint8_t> keys = open.column.keys();
        found_.resize(keys.size());
        const std::size_t n = kernels().find_key(keys.data(), keys.size(),
                                                 static_cast<std::uint8_t>(b), found_.data());
        members_.resize(n);
        std::size_t size = 0;
        for (std::size_t k = 0; k < n; ++k) {
            members_[size] = {open.values.at(found_[k], 0), found_[k]};
            size += open.rows.weight(found_[k]) > 0.0;
        }
        members_.resize(size);
        std::sort(members_.begin(), members_.end());
    }
};

}  // namespace driftsieve
