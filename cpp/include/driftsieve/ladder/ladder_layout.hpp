#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "driftsieve/base/fading.hpp"
#include "driftsieve/base/squares.hpp"
#include "driftsieve/ladder/ladder_kernels.hpp"

namespace driftsieve {

// Positions of the numbers in a record of a LadderPage: sums of squared weights and, at each
// half-life, the weights of each class. A single sum of squares is between the weights of the first
// two classes, so that it is adjacent to both.
//
// While every row weighs 1, the square of its weight at one half-life is its weight at half of that
// half-life. So a sum of squares that equals the sum of weights at another half-life is not stored.
class LadderLayout {
  public:
    LadderLayout() = default;
    LadderLayout(std::span<const Fading> fadings, Squares squares) : squares_(squares) {
        rungs_ = fadings.size();
        for (std::size_t r = 0; r < rungs_; ++r) {
            half_[r] = fadings[r].fades() ? kNone : static_cast<std::uint8_t>(r);
            for (std::size_t q = 0; q < r && fadings[r].fades(); ++q)
                if (2.0 * fadings[q].half_life() == fadings[r].half_life())
                    half_[r] = static_cast<std::uint8_t>(q);
        }
        keep_squares(squares == Squares::by_class);
    }
    LadderLayout with_room(std::size_t n_classes) const {
        LadderLayout wide = *this;
        wide.room_ = std::max(n_classes, room_);
        return wide;
    }
    LadderLayout with_weights() const {
        LadderLayout wide = *this;
        wide.keep_squares(true);
        return wide;
    }

    std::size_t rungs() const { return rungs_; }
    std::size_t room() const { return room_; }  // for classes
    Squares squares() const { return squares_; }
    std::size_t n_squares() const { return count_of(squares_, room_); }
    // The half-lives with stored sums of squares.
    std::span<const std::uint8_t> own() const { return {own_.data(), n_own_}; }
    std::size_t stride() const { return rungs_ * room_ + n_own_ * n_squares(); }
    std::size_t bytes() const { return stride() * sizeof(double); }

    std::size_t square_at(std::size_t k) const {
        return squares_ == Squares::together ? rungs_ : n_own_ * k;
    }
    std::size_t squared_at(std::size_t cls) const { return square_at(place_in(squares_, cls)); }
    std::size_t weight_at(std::size_t cls) const {
        const bool is_before = squares_ == Squares::together && cls == 0;
        return rungs_ * cls + (is_before ? 0 : n_own_ * n_squares());
    }

    // Adds a row with these weights, one for each half-life.
    void add(double* record, std::size_t cls, const double* weights) const {
        for (std::size_t r = 0; r < rungs_; ++r) record[weight_at(cls) + r] += weights[r];
        for (std::size_t o = 0; o < n_own_; ++o)
            record[squared_at(cls) + o] += weights[own_[o]] * weights[own_[o]];
    }
    // Sum of squares in a record: of all classes together, or of the kth of them.
    double squared(const double* record, std::span<const std::int64_t> epochs, std::size_t k,
                   std::size_t rung) const {
        for (std::size_t o = 0; o < n_own_; ++o)
            if (own_[o] == rung) return record[square_at(k) + o];
        const std::size_t half = half_[rung];
        double sum = 0.0;
        for (std::size_t c = 0; c < room_; ++c) sum += record[weight_at(c) + half];
        // one epoch is as long as two epochs of half the half-life
        return half == rung ? sum
                            : sum * Fading::rebase_factor(std::max<std::int64_t>(
                                        0, 2 * epochs[rung] + 1 - epochs[half]));
    }
    void scale(double* record, std::span<const double> factors) const {
        for (std::size_t k = 0; k < n_squares(); ++k)
            for (std::size_t o = 0; o < n_own_; ++o)
                record[square_at(k) + o] *= factors[own_[o]] * factors[own_[o]];
        for (std::size_t c = 0; c < room_; ++c)
            for (std::size_t r = 0; r < rungs_; ++r) record[weight_at(c) + r] *= factors[r];
    }
    // Copies a record of another layout, at these epochs, to an empty record.
    void convert(const LadderLayout& from, const double* theirs,
                 std::span<const std::int64_t> epochs, double* record) const {
        for (std::size_t k = 0; k < from.n_squares(); ++k)
            for (std::size_t o = 0; o < n_own_; ++o)
                record[square_at(k) + o] = from.squared(theirs, epochs, k, own_[o]);
        for (std::size_t c = 0; c < from.room_; ++c)
            std::copy_n(theirs + from.weight_at(c), rungs_, record + weight_at(c));
    }

  private:
    static constexpr std::uint8_t kNone = 255;

    std::size_t rungs_ = 0;
    std::size_t room_ = 2;
    Squares squares_ = Squares::together;
    std::size_t n_own_ = 0;
    std::array<std::uint8_t, kMostRungs> own_{};
    // By half-life: the half-life whose weights are its squares, or kNone.
    std::array<std::uint8_t, kMostRungs> half_{};

    void keep_squares(bool all) {
        n_own_ = 0;
        for (std::size_t r = 0; r < rungs_; ++r)
            if (all || half_[r] == kNone) own_[n_own_++] = static_cast<std::uint8_t>(r);
    }
};

}  // namespace driftsieve
