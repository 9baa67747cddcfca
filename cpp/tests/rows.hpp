// Rows of one feature for the tests, their exact ranks by brute force, and the comparison with a
// summary.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "driftsieve/quantiles/cell_block.hpp"
#include "driftsieve/quantiles/summary.hpp"

namespace tests {

using driftsieve::Weighed;

enum class Kind {
    bell,
    uniform,
    rising,    // every batch lies above all before it
    falling,   // and below
    few,       // seven values
    integers,  // some hundreds of them
    atoms,     // most rows on five values, the others anywhere
    half_zeros,
    cauchy,
    all_scales,  // both signs, 2^-60 to 2^60
    zooming,     // on 1
    clusters,    // two tight ones, far from each other
    outlier,     // one row in a thousand is far away
    offset,      // 1e8
    far_offset,  // 1e15, where cells are as narrow as doubles get
    tiny,        // denormal
    huge,        // up to the largest double
    constant,
    end_of_kinds
};

inline std::vector<Kind> all_kinds() {
    std::vector<Kind> kinds;
    for (int k = 0; k < static_cast<int>(Kind::end_of_kinds); ++k)
        kinds.push_back(static_cast<Kind>(k));
    return kinds;
}

enum class Weights { unit, whole, real, all_orders };

class Source {
  public:
    explicit Source(std::uint64_t seed) : bits_(seed) {}

    double uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
    std::size_t below(std::size_t n) { return bits_() % n; }
    double bell() {
        double sum = -6.0;
        for (int i = 0; i < 12; ++i) sum += uniform();
        return sum;
    }

    double value(Kind kind, std::size_t batch) {
        const double place = static_cast<double>(batch);
        switch (kind) {
            case Kind::bell:
                return bell();
            case Kind::uniform:
                return uniform();
            case Kind::rising:
                return place + uniform();
            case Kind::falling:
                return uniform() - place;
            case Kind::few:
                return static_cast<double>(below(7)) - 3.0;
            case Kind::integers:
                return std::floor(100.0 * bell());
            case Kind::atoms:
                return below(10) < 6 ? static_cast<double>(below(5)) : 9.0 * bell();
            case Kind::half_zeros:
                return below(2) == 0 ? (below(2) == 0 ? 0.0 : -0.0) : bell();
            case Kind::cauchy:
                return std::tan(3.14159 * (uniform() - 0.5));
            case Kind::all_scales:
                return std::ldexp(uniform() - 0.5, static_cast<int>(below(121)) - 60);
            case Kind::zooming:
                return 1.0 + std::ldexp(bell(), -8 * static_cast<int>(batch));
            case Kind::clusters:
                return (below(2) == 0 ? -1e6 : 1e6) + 1e-3 * bell();
            case Kind::outlier:
                return below(1000) == 0 ? 1e12 * bell() : bell();
            case Kind::offset:
                return 1e8 + bell();
            case Kind::far_offset:
                return 1e15 + std::floor(40.0 * bell()) / 8.0;
            case Kind::tiny:
                return static_cast<double>(below(4000)) * 5e-324 - 1e-320;
            case Kind::huge:
                return (uniform() - 0.5) * 2.0 * std::numeric_limits<double>::max();
            case Kind::constant:
                return 3.25;
            case Kind::end_of_kinds:
                break;
        }
        return 0.0;
    }

    double weight(Weights weights) {
        switch (weights) {
            case Weights::unit:
                return 1.0;
            case Weights::whole:
                return static_cast<double>(below(4));
            case Weights::real:
                return 3.0 * uniform();
            case Weights::all_orders:
                return std::pow(10.0, 30.0 * uniform() - 15.0);
        }
        return 0.0;
    }

    std::vector<Weighed> rows(std::size_t n, std::size_t n_classes, Kind kind, Weights weights,
                              std::size_t batch = 0) {
        std::vector<Weighed> rows;
        for (std::size_t i = 0; i < n; ++i)
            rows.push_back({value(kind, batch), weight(weights),
                            static_cast<std::uint32_t>(below(n_classes))});
        return rows;
    }

  private:
    std::mt19937_64 bits_;
};

// Rows class by class, as a block has them.
class Block {
  public:
    Block(std::vector<Weighed> rows, std::size_t n_classes, bool unit) : begin_(n_classes + 1, 0) {
        std::stable_sort(rows.begin(), rows.end(),
                         [](const Weighed& a, const Weighed& b) { return a.cls < b.cls; });
        for (const Weighed& row : rows) {
            values.push_back(row.value);
            weights_.push_back(row.weight);
            total += row.weight;
            ++begin_[row.cls + 1];
        }
        for (std::size_t c = 0; c < n_classes; ++c) begin_[c + 1] += begin_[c];
        column = {values.data(), 1, nullptr, unit ? nullptr : weights_.data(), begin_};
    }
    Block(const Block&) = delete;  // column points into it

    std::vector<double> values;
    double total = 0.0;
    driftsieve::BlockColumn column;

    std::vector<double> sample() const {
        std::vector<double> sample(driftsieve::CellMap::sample_size(values.size()));
        const std::size_t step = driftsieve::CellMap::sample_step(values.size());
        for (std::size_t i = 0; i < sample.size(); ++i) sample[i] = values[i * step];
        return sample;
    }

  private:
    std::vector<double> weights_;
    std::vector<std::size_t> begin_;
};

class Truth {
  public:
    explicit Truth(std::size_t n_classes) : class_totals_(n_classes, 0.0L) {}

    void add(std::span<const Weighed> rows) {
        rows_.insert(rows_.end(), rows.begin(), rows.end());
        for (const Weighed& row : rows) class_totals_[row.cls] += row.weight;
        std::sort(rows_.begin(), rows_.end(),
                  [](const Weighed& a, const Weighed& b) { return a.value < b.value; });
        sums_.assign(1, 0.0L);
        for (const Weighed& row : rows_) sums_.push_back(sums_.back() + row.weight);
    }

    double total() const { return static_cast<double>(sums_.back()); }
    const std::vector<Weighed>& rows() const { return rows_; }

    // Nothing but "" is good: A_i <= R(value_i), R-(value_i) <= A_{i-1} + hidden_i, nothing hidden
    // beyond `budget`, nothing lost in any class, nothing moved across zero.
    template <class Weight>
    std::string fault(const driftsieve::SummaryOf<Weight>& summary, Weight budget,
                      double rounding = 0.0) const {
        const auto at = [](std::size_t i, const char* what) {
            return "mini-bin " + std::to_string(i) + ": " + what;
        };
        if (summary.n_classes != class_totals_.size()) return "other classes";
        const long double slack = rounding * sums_.back();
        long double before = 0.0L;
        long double negative = 0.0L;
        std::vector<long double> found(class_totals_.size(), 0.0L);
        for (std::size_t i = 0; i < summary.size(); ++i) {
            const double value = summary.values[i];
            if (!std::isfinite(value)) return at(i, "not finite");
            if (i > 0 && !(summary.values[i - 1] < value)) return at(i, "not sorted");
            long double after = before;
            for (std::size_t c = 0; c < found.size(); ++c) {
                if (!(summary.of(i)[c] >= Weight{0})) return at(i, "negative weight");
                after += summary.of(i)[c];
                found[c] += summary.of(i)[c];
            }
            if (after > up_to(value) + slack) return at(i, "weight of values above");
            if (below(value) > before + summary.hidden[i] + slack) return at(i, "hides too much");
            if (summary.hidden[i] > budget + slack) return at(i, "beyond the budget");
            if (value < 0.0) negative = after;
            before = after;
        }
        if (std::abs(negative - below(0.0)) > slack) return "moved across zero";
        for (std::size_t c = 0; c < found.size(); ++c)
            if (std::abs(found[c] - class_totals_[c]) > rounding * class_totals_[c])
                return "class " + std::to_string(c) + ": total";
        return "";
    }

  private:
    std::vector<Weighed> rows_;
    std::vector<long double> sums_{0.0L};
    std::vector<long double> class_totals_;

    long double below(double v) const {
        const auto it =
            std::lower_bound(rows_.begin(), rows_.end(), v,
                             [](const Weighed& row, double value) { return row.value < value; });
        return sums_[static_cast<std::size_t>(it - rows_.begin())];
    }
    long double up_to(double v) const {
        const auto it =
            std::upper_bound(rows_.begin(), rows_.end(), v,
                             [](double value, const Weighed& row) { return value < row.value; });
        return sums_[static_cast<std::size_t>(it - rows_.begin())];
    }
};

}  // namespace tests
