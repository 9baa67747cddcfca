#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "driftsieve/bank.hpp"
#include "driftsieve/bank/careful_update.hpp"
#include "driftsieve/bank/forecast.hpp"

namespace driftsieve {

// The same rows at one or several half-lives, the shortest first.
//
// Rows of a few classes are in one bank for all half-lives (LadderStore, SparseLadder). In other
// cases (sparse rows without quantiles, more classes, very many half-lives) there is a separate
// bank for each half-life, from then on. When this happens depends on the rows only, and not on
// batches.
//
// With separate banks, everything that can be rejected is rejected by the first bank before it
// changes: the shortest half-life allows the least, and everything else is the same for all. So a
// change is made at all half-lives or at none, unless memory runs out.
class Ladder {
  public:
    Ladder() = default;
    // Half-lives ascend.
    Ladder(const Config& config, Clock clock, std::span<const double> half_lives) {
        if (LadderStore::serves(half_lives.size(), 0))
            banks_.emplace_back(config, clock, half_lives);
        else
            for (const double half_life : half_lives) banks_.emplace_back(config, clock, half_life);
    }

    std::vector<double> half_lives() const {
        std::vector<double> all(first().half_lives().begin(), first().half_lives().end());
        if (all.empty())
            for (const Bank& bank : banks_) all.push_back(bank.half_life());
        return all;
    }
    // For what is the same at all half-lives.
    const Bank& first() const { return banks_.front(); }

    // All below: half-lives by number.
    std::vector<ClassTotal> totals(std::size_t rung) const {
        return is_apart() ? banks_.at(rung).totals() : first().totals(rung);
    }
    void take_snapshot(std::span<const std::size_t> rungs, std::size_t begin,
                       std::span<const SnapshotArrays> out, unsigned n_threads) const {
        if (!is_apart()) {
            first().take_snapshot(rungs, begin, out, n_threads);
            return;
        }
        for (std::size_t k = 0; k < rungs.size(); ++k)
            banks_.at(rungs[k]).take_snapshot(begin, out[k], n_threads);
    }
    void take_snapshot_of(std::span<const std::size_t> rungs, std::span<const std::size_t> features,
                          std::span<const SnapshotArrays> out) const {
        if (!is_apart()) {
            first().take_snapshot_of(rungs, features, out);
            return;
        }
        for (std::size_t k = 0; k < rungs.size(); ++k)
            banks_.at(rungs[k]).take_snapshot_of(features, out[k]);
    }
    bool has_design_effects(std::size_t rung) const {
        return is_apart() ? banks_.at(rung).has_design_effects() : first().has_design_effects(rung);
    }

    bool is_whole() const {
        return is_whole_ && std::all_of(banks_.begin(), banks_.end(),
                                        [](const Bank& bank) { return bank.is_whole(); });
    }

    void take_absent_as_missing() {
        for (Bank& bank : banks_) bank.take_absent_as_missing();
    }

    // Room for a row that will come with a later update, at one half-life.
    double* place(std::size_t ahead, std::size_t n_features, std::size_t more) {
        return banks_.at(0).place(ahead, n_features, more);
    }

    // Returns whether the rows were added: not if they have not been validated (`checked`) and are
    // not valid, and then nothing has changed.
    template <class Rows>
    bool update(const Rows& rows, const RowInfo& info, std::size_t n_classes, unsigned n_threads,
                bool checked) {
        if (!stays(rows, n_classes)) {
            const std::size_t begin = rows_before_parting(rows, info);
            if (begin > 0) {
                if (!checked && !is_sound(rows, first().config().ignore_missing)) return false;
                first().check_clock(rows.n_rows, info);
                is_whole_ = false;
                banks_[0].update(part_of(rows, 0, begin), info.part(0, begin), kFewClasses,
                                 n_threads);
                part();
                const std::size_t n = rows.n_rows - begin;
                for (Bank& bank : banks_)
                    bank.update(part_of(rows, begin, n), info.part(begin, n), n_classes, n_threads);
                is_whole_ = true;
                return true;
            }
            part();
        }
        if (checked)
            banks_[0].update(rows, info, n_classes, n_threads);
        else if (!update_if_sound(banks_[0], rows, info, n_classes, n_threads))
            return false;
        for_others([&](std::size_t i) {
            banks_[i].update(with_canonical_rows(rows), info, n_classes, n_threads);
        });
        return true;
    }

    // See Bank; `other` has the same half-lives.
    void merge(Ladder other, std::span<const std::uint32_t> class_map,
               std::span<const std::size_t> target, std::size_t n_classes, std::size_t n_features,
               double start, unsigned n_threads) {
        part_for_merge(other, n_classes);
        const auto join = [&](std::size_t i) {
            banks_[i].merge(std::move(other.banks_[i]), class_map, target, n_classes, n_features,
                            start, n_threads);
        };
        join(0);
        for_others(join);
    }

    Ladder cut(std::size_t begin, std::size_t count) const {
        Ladder cut;
        for (const Bank& bank : banks_) cut.banks_.push_back(bank.cut(begin, count));
        return cut;
    }

    std::size_t nbytes() const {
        return sum([](const Bank& bank) { return bank.nbytes(); });
    }
    std::size_t most_bytes(std::size_t n_classes) const {
        return sum([&](const Bank& bank) { return bank.most_bytes(n_classes); });
    }
    // See Bank; measuring makes the bound tight.
    std::size_t most_bytes_with(const Coming& coming, bool are_sparse, bool measure) {
        if (!stays(are_sparse, coming.classes))
            return apart().most_bytes_with(coming, are_sparse, measure);
        if (measure)
            for (Bank& bank : banks_) bank.measure(coming);
        return sum([&](const Bank& bank) { return bank.most_bytes_with(coming, are_sparse); });
    }

    // See Forecast. A bound for one bank must not use the memory of another one, so bounds are used
    // only if they are good enough for all together.
    template <class Rows, class IsSound>
    std::size_t bytes_with_rows(const Rows& rows, const RowInfo& info, std::size_t n_classes,
                                std::size_t limit, bool be_sure, unsigned n_threads,
                                const IsSound& is_sound) {
        if (!stays(rows, n_classes)) {
            const std::size_t begin = rows_before_parting(rows, info);
            if (begin == 0)
                return apart().bytes_with_rows(rows, info, n_classes, limit, be_sure, n_threads,
                                               is_sound);
            // this happens once in the life of a bank, so the first rows are added to a copy
            const auto before = part_of(rows, 0, begin);
            const std::size_t bytes =
                Forecast(banks_[0], limit, be_sure, n_threads)
                    .with_rows(before, info.part(0, begin), kFewClasses, is_sound);
            if (bytes > limit || !is_sound()) return bytes;
            Ladder trial = *this;
            trial.banks_[0].update(before, info.part(0, begin), kFewClasses, n_threads);
            trial.part();
            const std::size_t n = rows.n_rows - begin;
            return trial.bytes_with_rows(part_of(rows, begin, n), info.part(begin, n), n_classes,
                                         limit, be_sure, n_threads, is_sound);
        }
        if (banks_.size() == 1)
            return Forecast(banks_[0], limit, be_sure, n_threads)
                .with_rows(rows, info, n_classes, is_sound);
        for (const bool measured : {false, true}) {
            const std::size_t bound = sum([&](Bank& bank) {
                return Forecast(bank, limit, be_sure, n_threads)
                    .bound(rows, info, n_classes, measured);
            });
            if (bound <= limit) return bound;
        }
        if (!is_sound()) return 0;
        return one_by_one(limit, [&](std::size_t i, std::size_t left) {
            return Forecast(banks_[i], left, true, n_threads).tried(rows, info, n_classes);
        });
    }

    std::size_t bytes_with_bank(const Ladder& other, std::span<const std::uint32_t> class_map,
                                std::span<const std::size_t> target, std::size_t n_classes,
                                std::size_t n_features, double start, std::size_t limit,
                                unsigned n_threads) {
        if (joins_as_one(other, n_classes))
            return Forecast(banks_[0], limit, true, n_threads)
                .with_bank(other.banks_[0], class_map, target, n_classes, n_features, start);
        if (!is_apart())
            return apart().bytes_with_bank(other, class_map, target, n_classes, n_features, start,
                                           limit, n_threads);
        if (!other.is_apart())
            return bytes_with_bank(other.apart(), class_map, target, n_classes, n_features, start,
                                   limit, n_threads);
        const std::size_t bound = sum([&](Bank& bank) {
            return Forecast(bank, limit, true, n_threads)
                .most_with_bank(other.first(), n_classes, n_features);
        });
        if (bound <= limit) return bound;
        return one_by_one(limit, [&](std::size_t i, std::size_t left) {
            return Forecast(banks_[i], left, true, n_threads)
                .tried_bank(other.banks_[i], class_map, target, n_classes, n_features, start);
        });
    }

    // Separate banks are stored one after another; so are half-lives at which there are no rows.
    template <class Archive>
    void archive(Archive& ar) {
        if constexpr (requires { ar.expect_end(); }) {
            do banks_.emplace_back().archive(ar);
            while (!ar.at_end());
            if (LadderStore::serves(banks_.size(), first().n_classes()) && is_like_the_first(true))
                banks_ = {first().with_half_lives(half_lives())};
        } else if (first().rungs() > 1 && first().is_empty()) {
            apart().archive(ar);
        } else {
            for (Bank& bank : banks_) bank.archive(ar);
        }
    }

    // Validates a deserialized state.
    void check() const {
        for (const Bank& bank : banks_) bank.check();
        require(is_like_the_first(false));
    }

  private:
    std::vector<Bank> banks_;  // one, or one for each half-life
    bool is_whole_ = true;

    bool is_apart() const { return first().rungs() == 1; }

    // A bank for each half-life.
    Ladder apart() const {
        Ladder ladder;
        for (std::size_t i = 0; i < first().rungs(); ++i) ladder.banks_.push_back(first().alone(i));
        return ladder;
    }
    void part() {
        Ladder ladder = apart();
        banks_ = std::move(ladder.banks_);
    }
    void part_for_merge(Ladder& other, std::size_t n_classes) {
        if (joins_as_one(other, n_classes)) return;
        if (!is_apart()) part();
        if (!other.is_apart()) other.part();
    }

    // Whether both are single banks that can be merged as such.
    bool joins_as_one(const Ladder& other, std::size_t n_classes) const {
        if (banks_.size() != 1 || other.banks_.size() != 1) return false;
        const bool are_alike = first().is_empty() || other.first().is_empty() ||
                               first().is_sparse() == other.first().is_sparse();
        return is_apart() || (n_classes <= kFewClasses && are_alike);
    }

    // Whether a single bank is still possible.
    template <class Rows>
    bool stays(const Rows&, std::size_t n_classes) const {
        return stays(requires(const Rows& rows) { rows.indptr; }, n_classes);
    }
    bool stays(bool are_sparse, std::size_t n_classes) const {
        return is_apart() || (n_classes <= kFewClasses &&
                              (first().config().quantiles || !are_sparse || !first().is_empty()));
    }

    // Number of rows of an update that are added before there is a bank for each half-life.
    template <class Rows>
    std::size_t rows_before_parting(const Rows&, const RowInfo& info) const {
        constexpr bool is_csr = requires(const Rows& rows) { rows.indptr; };
        const bool are_sparse = first().is_sparse() || (is_csr && first().is_empty());
        return stays(are_sparse, 0) ? rows_before_many_classes(info) : 0;
    }

    // Number of rows before the first class that is too many. With clock "batch", an update must
    // not be split.
    std::size_t rows_before_many_classes(const RowInfo& info) const {
        if (first().clock() == Clock::batch) return 0;
        const auto many = std::find_if(info.classes.begin(), info.classes.end(),
                                       [](std::uint32_t cls) { return cls >= kFewClasses; });
        if (many == info.classes.end()) return 0;
        return static_cast<std::size_t>(many - info.classes.begin());
    }

    // If a bank throws, the others are not up to date.
    template <class Work>
    void for_others(const Work& work) {
        is_whole_ = false;
        for (std::size_t i = 1; i < banks_.size(); ++i) work(i);
        is_whole_ = true;
    }

    // Whether all banks can have the same rows, at ascending half-lives; `empty`: and have none.
    bool is_like_the_first(bool empty) const {
        for (std::size_t i = 0; i < banks_.size(); ++i) {
            if (empty && !banks_[i].is_empty()) return false;
            if (i > 0 &&
                !(banks_[i - 1].half_life() < banks_[i].half_life() && banks_[i].is_like(first())))
                return false;
        }
        return true;
    }

    template <class Measure>
    std::size_t sum(const Measure& measure) const {
        return add_up(banks_, measure);
    }
    template <class Measure>
    std::size_t sum(const Measure& measure) {
        return add_up(banks_, measure);
    }
    // Unknown if it is unknown for a bank.
    template <class Banks, class Measure>
    static std::size_t add_up(Banks& banks, const Measure& measure) {
        constexpr std::size_t kUnknown = std::numeric_limits<std::size_t>::max();
        std::size_t bytes = 0;
        for (auto& bank : banks) {
            const std::size_t more = measure(bank);
            bytes = more < kUnknown - bytes ? bytes + more : kUnknown;
        }
        return bytes;
    }

    // forecast(number, what the limit leaves for it) for each bank, as long as they are within.
    template <class Work>
    std::size_t one_by_one(std::size_t limit, const Work& forecast) {
        std::size_t bytes = nbytes();
        for (std::size_t i = 0; i < banks_.size(); ++i) {
            bytes -= banks_[i].nbytes();
            bytes += forecast(i, limit > bytes ? limit - bytes : 0);
            if (bytes > limit) break;
        }
        return bytes;
    }
};

}  // namespace driftsieve
