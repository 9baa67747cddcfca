#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/base/require.hpp"
#include "driftsieve/kernels.hpp"
#include "driftsieve/memory/room.hpp"
#include "driftsieve/quantiles/summary.hpp"

namespace driftsieve {

// The quantile summary of one feature at R half-lives: one list of mini-bins, each with its weights
// and hidden mass at all of them. At each half-life it is a valid summary (see SummaryOf);
// mini-bins without weight there do no harm.
//
// Hidden mass takes half as many bytes as a weight: it is stored as a float, rounded up, in units
// of a power of two that is larger than all of them.
class LadderList {
  public:
    std::size_t size() const { return values_.size(); }
    bool empty() const { return values_.empty(); }
    std::size_t n_classes() const { return n_classes_; }
    const double* values() const { return values_.data(); }
    const double* weights() const { return weights_.data(); }

    std::size_t nbytes() const {
        return (values_.capacity() + weights_.capacity() + unit_.capacity()) * sizeof(double) +
               hidden_.capacity() * sizeof(float);
    }
    // Largest size of n mini-bins: vectors may be an eighth too long.
    static constexpr std::size_t most_bytes(std::size_t n, std::size_t n_classes,
                                            std::size_t rungs) {
        const std::size_t of_mini_bin = sizeof(double) * (1 + n_classes * rungs) + 4 * rungs;
        return n * of_mini_bin * (kSpare + 1) / kSpare + rungs * sizeof(double);
    }

    // Hidden mass of each mini-bin at each half-life.
    void load_hidden(std::size_t rungs, Room<double>& out) const {
        out.resize(size() * rungs);
        if (hidden_.empty()) {
            std::fill(out.begin(), out.end(), 0.0);
            return;
        }
        kernels().ladder->unpack(rungs, hidden_.data(), size(), unit_.data(), out.data());
    }

    // Largest hidden mass of a mini-bin at each half-life.
    void largest_hidden(std::span<double> out) const {
        std::fill(out.begin(), out.end(), 0.0);
        for (std::size_t i = 0; i < hidden_.size(); i += out.size())
            for (std::size_t r = 0; r < out.size(); ++r)
                out[r] = std::max(out[r], static_cast<double>(hidden_[i + r]));
        for (std::size_t r = 0; r < unit_.size(); ++r) out[r] *= unit_[r];
    }

    void store(std::span<const double> values, const double* hidden, const double* weights,
               std::size_t n_classes, std::size_t rungs) {
        n_classes_ = static_cast<std::uint32_t>(n_classes);
        const std::size_t n = values.size();
        take_size(values_, n, kSpare);
        std::copy_n(values.data(), n, values_.data());
        take_size(weights_, n * n_classes * rungs, kSpare);
        std::copy_n(weights, weights_.size(), weights_.data());
        store_hidden(hidden, rungs);
    }

    // Multiplies weights and hidden mass by a factor for each half-life.
    void scale(std::span<const double> factors) {
        const std::size_t rungs = factors.size();
        for (std::size_t i = 0; i < weights_.size(); i += rungs)
            for (std::size_t r = 0; r < rungs; ++r) weights_[i + r] *= factors[r];
        for (std::size_t r = 0; r < unit_.size(); ++r) unit_[r] *= factors[r];
        if (std::all_of(factors.begin(), factors.end(), [](double f) { return f == 0.0; }))
            *this = LadderList();
    }

    // Class c becomes class_map[c] of n_classes.
    void map_classes(std::span<const std::uint32_t> class_map, std::size_t n_classes,
                     std::size_t rungs) {
        Room<double> mapped(size() * n_classes * rungs, 0.0);
        for (std::size_t i = 0; i < size(); ++i)
            for (std::size_t c = 0; c < n_classes_; ++c)
                std::copy_n(weights_.data() + (i * n_classes_ + c) * rungs, rungs,
                            mapped.data() + (i * n_classes + class_map[c]) * rungs);
        weights_ = std::move(mapped);
        n_classes_ = static_cast<std::uint32_t>(n_classes);
    }
    void widen_classes(std::size_t n_classes, std::size_t rungs) {
        if (n_classes == n_classes_) return;
        std::vector<std::uint32_t> same(n_classes_);
        for (std::uint32_t c = 0; c < n_classes_; ++c) same[c] = c;
        map_classes(same, n_classes, rungs);
    }

    // Adds the weight of all classes together at each half-life.
    void add_weights(std::span<double> into) const {
        for (std::size_t i = 0; i < weights_.size(); i += into.size())
            for (std::size_t r = 0; r < into.size(); ++r) into[r] += weights_[i + r];
    }

    // The summary at one half-life.
    void load(std::size_t rung, std::size_t rungs, std::size_t n_classes, Summary& out) const {
        out.reset(size(), n_classes);
        std::fill(out.weights.begin(), out.weights.end(), 0.0);
        for (std::size_t i = 0; i < out.size(); ++i) {
            out.values[i] = values_[i];
            out.hidden[i] = hidden_.empty()
                                ? 0.0
                                : static_cast<double>(hidden_[i * rungs + rung]) * unit_[rung];
            for (std::size_t c = 0; c < n_classes_; ++c)
                out.of(i)[c] = weights_[(i * n_classes_ + c) * rungs + rung];
        }
    }

    template <class Archive>
    void archive(Archive& ar) {
        ar(n_classes_, values_, weights_, hidden_, unit_);
    }

    // Validates a deserialized state.
    void check(std::size_t n_classes, std::size_t rungs) const {
        const auto falls = [](double a, double b) { return !(a < b); };
        require(n_classes_ <= n_classes && (n_classes_ > 0 || empty()));
        require(weights_.size() == size() * n_classes_ * rungs);
        require(hidden_.empty() || hidden_.size() == size() * rungs);
        require(unit_.size() == (hidden_.empty() ? 0 : rungs));
        require(std::adjacent_find(values_.begin(), values_.end(), falls) == values_.end());
        require(empty() || (std::isfinite(values_.front()) && std::isfinite(values_.back())));
        for (const double weight : weights_) require_weight(weight);
        for (const double unit : unit_) require_weight(unit);
        for (const float hidden : hidden_) require(hidden >= 0.0f && hidden <= 1.0f);
    }

  private:
    static constexpr std::size_t kSpare = 8;

    std::uint32_t n_classes_ = 0;
    Room<double> values_;
    Room<double> weights_;      // of each mini-bin, class after class, at each half-life
    Room<float> hidden_;        // of each mini-bin at each half-life; empty if all are 0
    std::vector<double> unit_;  // of hidden mass, at each half-life

    void store_hidden(const double* hidden, std::size_t rungs) {
        double most[kMostRungs];
        kernels().ladder->largest(rungs, hidden, size(), most);
        if (std::all_of(most, most + rungs, [](double h) { return h == 0.0; })) {
            hidden_ = Room<float>();
            unit_ = std::vector<double>();
            return;
        }
        unit_.resize(rungs);
        double per_unit[kMostRungs];
        for (std::size_t r = 0; r < rungs; ++r) {
            unit_[r] = most[r] > 0.0 ? std::ldexp(1.0, std::ilogb(most[r]) + 1) : 0.0;
            per_unit[r] = most[r] > 0.0 ? 1.0 / unit_[r] : 0.0;
        }
        take_size(hidden_, size() * rungs, kSpare);
        kernels().ladder->pack(rungs, hidden, size(), per_unit, hidden_.data());
    }
};

}  // namespace driftsieve
