#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "driftsieve/kernels.hpp"

namespace driftsieve {

// Adjacent ranges of values with about equal weight, and the weight of each class in each of them.
// Bucket b holds the values above end(b - 1) and up to end(b); the last one has no end. A value
// with the weight of a bucket has a bucket of its own.
class Buckets {
  public:
    // Their numbers fit into a byte, with one to spare.
    static constexpr std::size_t kMost = 254;
    static constexpr std::uint8_t kNone = 255;

    // Ends are chosen from lists of ascending values, list after list, so that no bucket has much
    // more of any list than its share of `weight`. With many classes there are fewer, larger
    // buckets.
    void begin(double weight, std::size_t n_classes) {
        wanted_ = static_cast<double>(
            std::clamp<std::size_t>(4096 / std::max<std::size_t>(1, n_classes), 16, 128));
        weight_ = weight;
    }
    void begin_lists() {
        ends_.clear();
        step_ = weight_ / wanted_;
    }
    void begin_list() { run_ = 0.0; }
    // value() is called where an end is set.
    template <class Value>
    void offer(double weight, const Value& value) {
        run_ += weight;
        if (!(run_ >= step_) || !(step_ > 0.0)) return;
        run_ = 0.0;
        const double end = value();
        if (weight >= step_)
            ends_.push_back(std::nextafter(end, -std::numeric_limits<double>::infinity()));
        ends_.push_back(end);
    }
    // Returns false if there are too many: then the lists must be added again, for fewer buckets.
    bool finish(std::size_t n_classes) {
        std::sort(ends_.begin(), ends_.end());
        ends_.erase(std::unique(ends_.begin(), ends_.end()), ends_.end());
        if (size() > kMost) {
            wanted_ /= 2.0;
            return false;
        }
        n_classes_ = n_classes;
        sums_.assign(n_classes * size(), 0.0);
        return true;
    }

    // Adds classes without rows.
    void widen(std::size_t n_classes) {
        n_classes_ = std::max(n_classes_, n_classes);
        sums_.resize(n_classes_ * size(), 0.0);
    }

    std::size_t nbytes() const { return (ends_.capacity() + sums_.capacity()) * sizeof(double); }
    std::size_t size() const { return ends_.size() + 1; }
    std::size_t n_classes() const { return n_classes_; }
    double end(std::size_t b) const {
        return b < ends_.size() ? ends_[b] : std::numeric_limits<double>::infinity();
    }
    // Whether it has a single value.
    bool is_single(std::size_t b) const {
        return b > 0 && b < ends_.size() &&
               std::nextafter(ends_[b], -std::numeric_limits<double>::infinity()) == ends_[b - 1];
    }

    // Finds the buckets of n values; that of NaN is unspecified.
    void find(const double* values, std::size_t n, std::uint8_t* out) const {
        kernels().find_buckets(values, n, ends_.data(), ends_.size(), out);
    }
    std::size_t find(double value) const {
        return static_cast<std::size_t>(std::lower_bound(ends_.begin(), ends_.end(), value) -
                                        ends_.begin());
    }

    // Weight of a class in each bucket.
    double* of(std::size_t cls) { return sums_.data() + cls * size(); }
    const double* of(std::size_t cls) const { return sums_.data() + cls * size(); }

    // Weight of a class in buckets [begin, end), in four independent sums.
    double sum(std::size_t cls, std::size_t begin, std::size_t end) const {
        const double* sums = of(cls);
        double parts[4] = {};
        for (; begin + 4 <= end; begin += 4)
            for (std::size_t k = 0; k < 4; ++k) parts[k] += sums[begin + k];
        for (std::size_t k = 0; begin < end; ++begin, ++k) parts[k] += sums[begin];
        return (parts[0] + parts[1]) + (parts[2] + parts[3]);
    }

    double sum(std::size_t cls) const { return sum(cls, 0, size()); }

    // Weight of all classes in each bucket.
    void totals(std::vector<double>& out) const {
        out.assign(of(0), of(0) + (n_classes_ == 0 ? 0 : size()));
        out.resize(size());
        for (std::size_t c = 1; c < n_classes_; ++c)
            for (std::size_t b = 0; b < size(); ++b) out[b] += of(c)[b];
    }

    // Whether a bucket of several values has many times its share.
    bool is_crowded(const std::vector<double>& totals) const {
        constexpr double kCrowd = 6.0;
        double all = 0.0;
        for (const double total : totals) all += total;
        const double most = kCrowd / wanted_ * all;
        for (std::size_t b = 0; b < size(); ++b)
            if (totals[b] > most && !is_single(b)) return true;
        return false;
    }

  private:
    std::vector<double> ends_;
    std::vector<double> sums_;  // class after class
    std::size_t n_classes_ = 0;
    double wanted_ = 1.0;
    double weight_ = 0.0;
    double step_ = 0.0;
    double run_ = 0.0;
};

}  // namespace driftsieve
