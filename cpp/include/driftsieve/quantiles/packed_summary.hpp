#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "driftsieve/memory/coming.hpp"
#include "driftsieve/quantiles/summary.hpp"

namespace driftsieve {

// A stored summary. Numbers are narrow (32 bits) while weights are whole numbers, otherwise wide.
// With many classes most class weights of a mini-bin are 0: if it takes less memory, only the
// others are kept, each with its index.
class PackedSummary {
  public:
    bool empty() const { return values_.empty(); }
    bool is_narrow() const { return wide_.empty(); }
    std::size_t size() const { return values_.size(); }
    std::size_t n_classes() const { return n_classes_; }
    std::size_t nbytes() const {
        return values_.capacity() * sizeof(double) + wide_.capacity() * sizeof(double) +
               (narrow_.capacity() + places_.capacity()) * sizeof(std::uint32_t);
    }

    // Largest growth for one row: a mini-bin with the weight of its class.
    static constexpr std::size_t bytes_of_row(std::size_t n_classes, bool is_wide) {
        const std::size_t number = is_wide ? sizeof(double) : sizeof(std::uint32_t);
        const std::size_t weights =
            n_classes <= kFewClasses ? number * n_classes : number + sizeof(std::uint32_t);
        return sizeof(double) + number + weights;
    }
    // Largest growth of the existing mini-bins: to wide numbers, to more classes, to indices.
    std::size_t most_growth(std::size_t n_classes, bool is_wide) const {
        const bool widens = is_wide && is_narrow();
        const bool has_more = n_classes > n_classes_ || n_classes > kFewClasses;
        return (widens + has_more) * nbytes();
    }
    // Largest size of n mini-bins: vectors may be a quarter too long.
    static constexpr std::size_t most_bytes(std::size_t n, std::size_t n_classes, bool is_wide) {
        const std::size_t number = is_wide ? sizeof(double) : sizeof(std::uint32_t);
        return n * (sizeof(double) + number * (1 + n_classes)) * 5 / 4;
    }

    // Unpacks to a summary of n_classes, which must be at least the number it was stored with. A
    // narrow one can be loaded as either kind.
    template <class Weight>
    void load(std::size_t n_classes, SummaryOf<Weight>& out) const {
        out.reset(size(), n_classes);
        std::copy(values_.begin(), values_.end(), out.values.begin());
        if (is_narrow())
            unpack(narrow_, out);
        else
            unpack(wide_, out);
    }

    void store(const NarrowSummary& summary) {
        pack(summary, narrow_);
        wide_ = Room<double>();
    }

    void store(const Summary& summary) {
        if (std::all_of(summary.hidden.begin(), summary.hidden.end(), is_whole) &&
            std::all_of(summary.weights.begin(), summary.weights.end(), is_whole)) {
            pack(summary, narrow_);
            wide_ = Room<double>();
        } else {
            pack(summary, wide_);
            narrow_ = Room<std::uint32_t>();
        }
    }

    // Of all mini-bins and classes.
    double weight() const {
        const auto sum = [&](const auto& numbers) {
            return std::accumulate(numbers.begin() + static_cast<std::ptrdiff_t>(size()),
                                   numbers.end(), 0.0);
        };
        return empty() ? 0.0 : is_narrow() ? sum(narrow_) : sum(wide_);
    }

    const Room<double>& values() const { return values_; }

    // Calls add(i, class, weight) for the weights of mini-bins [begin, end), in order; weights of 0
    // may be skipped.
    template <class Add>
    void for_each_weight(std::size_t begin, std::size_t end, const Add& add) const {
        if (is_narrow())
            for_each_weight(narrow_, begin, end, add);
        else
            for_each_weight(wide_, begin, end, add);
    }

    // The certificate.
    double most_hidden() const {
        double most = 0.0;
        for (std::size_t i = 0; i < size(); ++i)
            most = std::max(most, is_narrow() ? static_cast<double>(narrow_[i]) : wide_[i]);
        return most;
    }

    template <class Archive>
    void archive(Archive& ar) {
        ar(n_classes_, values_, narrow_, wide_, places_);
    }

    // Whether this is a valid summary: the parts fit together, values ascend, weights are valid. It
    // is checked in packed form, because with the classes written out it may be far larger than its
    // bytes.
    bool sound() const {
        const std::size_t numbers = is_narrow() ? narrow_.size() : wide_.size();
        const std::size_t all = size() * n_classes_;
        const auto falls = [](auto a, auto b) { return !(a < b); };
        return (narrow_.empty() || wide_.empty()) && (n_classes_ > 0 || empty()) &&
               numbers == size() + (places_.empty() ? all : places_.size()) &&
               std::adjacent_find(values_.begin(), values_.end(), falls) == values_.end() &&
               (empty() || (std::isfinite(values_.front()) && std::isfinite(values_.back()))) &&
               std::all_of(narrow_.begin(), narrow_.end(),
                           [](auto x) { return x <= kMostNarrow; }) &&
               std::all_of(wide_.begin(), wide_.end(),
                           [](double x) { return x >= 0.0 && std::isfinite(x); }) &&
               std::adjacent_find(places_.begin(), places_.end(), falls) == places_.end() &&
               (places_.empty() || places_.back() < all);
    }

    // Half of the range, so that the sum of two fits as well.
    static constexpr std::uint32_t kMostNarrow = 2147483647;

  private:
    std::uint32_t n_classes_ = 0;
    Room<double> values_;
    Room<std::uint32_t> narrow_;  // what is hidden in each mini-bin, then the class weights
    Room<double> wide_;           // the same, where weights are not whole
    Room<std::uint32_t> places_;  // of the class weights that are kept; empty: all are

    static bool is_whole(double x) {
        return x <= kMostNarrow && x == static_cast<double>(static_cast<std::int64_t>(x));
    }

    template <class Number, class Add>
    void for_each_weight(const Room<Number>& numbers, std::size_t begin, std::size_t end,
                         const Add& add) const {
        const Number* weights = numbers.data() + size();
        if (places_.empty()) {
            for (std::size_t i = begin; i < end; ++i)
                for (std::size_t c = 0; c < n_classes_; ++c)
                    add(i, c, static_cast<double>(weights[i * n_classes_ + c]));
            return;
        }
        const auto first = std::lower_bound(places_.begin(), places_.end(), begin * n_classes_);
        for (auto at = first; at != places_.end() && *at < end * n_classes_; ++at)
            add(*at / n_classes_, *at % n_classes_,
                static_cast<double>(weights[at - places_.begin()]));
    }

    template <class Number, class Weight>
    void unpack(const Room<Number>& numbers, SummaryOf<Weight>& out) const {
        const std::size_t n = size();
        const auto as_weight = [](Number x) { return static_cast<Weight>(x); };
        std::transform(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(n),
                       out.hidden.begin(), as_weight);
        const Number* weights = numbers.data() + n;
        if (places_.empty() && n_classes_ == out.n_classes) {
            std::transform(weights, weights + n * n_classes_, out.weights.begin(), as_weight);
            return;
        }
        std::fill(out.weights.begin(), out.weights.end(), Weight{0});
        const std::size_t kept = places_.empty() ? n * n_classes_ : places_.size();
        for (std::size_t k = 0; k < kept; ++k) {
            const std::size_t place = places_.empty() ? k : places_[k];
            out.of(place / n_classes_)[place % n_classes_] = as_weight(weights[k]);
        }
    }

    template <class Number, class Weight>
    void pack(const SummaryOf<Weight>& summary, Room<Number>& numbers) {
        const std::size_t n = summary.size();
        n_classes_ = static_cast<std::uint32_t>(summary.n_classes);
        take_size(values_, n, 4);
        std::copy(summary.values.begin(), summary.values.end(), values_.begin());
        const auto as_number = [](Weight x) { return static_cast<Number>(x); };
        std::size_t kept = summary.weights.size();
        // With few classes most weights are not 0, and counting them would not be worth it.
        const bool few =
            summary.n_classes <= kFewClasses || kept > std::numeric_limits<std::uint32_t>::max();
        if (!few)
            kept -= static_cast<std::size_t>(
                std::count(summary.weights.begin(), summary.weights.end(), Weight{0}));
        const bool all = few || kept == 0 ||
                         kept * (sizeof(Number) + 4) >= summary.weights.size() * sizeof(Number);
        take_size(numbers, n + (all ? summary.weights.size() : kept), 4);
        std::transform(summary.hidden.begin(), summary.hidden.end(), numbers.begin(), as_number);
        Number* weights = numbers.data() + n;
        if (all) {
            places_ = Room<std::uint32_t>();
            std::transform(summary.weights.begin(), summary.weights.end(), weights, as_number);
            return;
        }
        take_size(places_, kept, 4);
        // without branches: which weights are 0 cannot be predicted
        const Weight* from = summary.weights.data();
        for (std::size_t k = 0, place = 0; k < kept; ++place) {
            places_[k] = static_cast<std::uint32_t>(place);
            weights[k] = as_number(from[place]);
            k += from[place] != Weight{0};
        }
    }
};

}  // namespace driftsieve
