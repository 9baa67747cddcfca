#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "driftsieve/base/fading.hpp"
#include "driftsieve/base/ledger.hpp"
#include "driftsieve/base/sparse_row.hpp"
#include "driftsieve/base/views.hpp"
#include "driftsieve/ladder/ladder_page.hpp"

namespace driftsieve {

// Adds the values of rows in the columns of one thread to pages, at all half-lives.
class LadderFiller {
  public:
    // `ledgers` are those of the store before the first row, with `n_classes` classes.
    LadderFiller(const Config& config, const LadderLayout& layout, std::span<LadderPage> pages,
                 std::span<const Fading> fadings, std::vector<Ledger> ledgers,
                 std::size_t n_classes, std::size_t n_rows)
        : config_(config),
          layout_(layout),
          pages_(pages),
          fadings_(fadings),
          ledgers_(std::move(ledgers)),
          block_(LadderPage::block(config)),
          scratch_(config, fadings_, n_rows) {
        for (Ledger& ledger : ledgers_) ledger.totals.resize(n_classes);
    }

    template <class T, class Index>
    void add_row(const RowInfo& info, std::size_t i, const SparseRow<T, Index>& row) {
        cls_ = info.classes[i];
        sample_weight_ = info.weight(i);
        time_ = info.time(i);
        version_ = 0;
        for (std::size_t r = 0; r < fadings_.size(); ++r) {
            ledgers_[r].advance(fadings_[r].epoch_of(time_));
            if (cls_ >= ledgers_[r].totals.size()) ledgers_[r].totals.resize(cls_ + 1);
            version_ += ledgers_[r].epoch;
        }
        const double* weights =
            scratch_.rows.of(time_, version_, [&](std::size_t r) { return ledgers_[r].epoch; });
        for (std::size_t r = 0; r < fadings_.size(); ++r)
            row_[r] = row_[fadings_.size() + layout_.own().size() + r] =
                sample_weight_ * weights[r];
        for (std::size_t o = 0; o < layout_.own().size(); ++o)
            row_[fadings_.size() + o] = row_[layout_.own()[o]] * row_[layout_.own()[o]];
        for (std::size_t begin = 0; begin < row.count; begin += kPiece)
            add(row.values + begin, row.columns + begin, std::min(kPiece, row.count - begin));
        // after its values: the weight of the row must not be spent before these are summed up
        for (std::size_t r = 0; r < fadings_.size(); ++r) ledgers_[r].totals[cls_].add(row_[r]);
    }
    // Sums up all marked pages.
    void sum_up() {
        for (LadderPage* page : due_) {
            if (!page->is_due) continue;
            page->sum_up(marks_of(*page), block_, layout_, config_, scratch_);
            page->shrink();
        }
    }

    std::vector<Ledger>& ledgers() { return ledgers_; }

  private:
    static constexpr std::size_t kColumns = LadderPage::kColumns;
    static constexpr std::size_t kPiece = 128;

    const Config& config_;
    const LadderLayout& layout_;
    std::span<LadderPage> pages_;
    std::span<const Fading> fadings_;
    std::vector<Ledger> ledgers_;
    std::size_t block_;
    LadderScratch scratch_;
    std::vector<LadderPage*> due_;
    std::unordered_map<LadderPage*, std::vector<LadderPage::Mark>> marks_;
    // The row that is being added.
    std::uint32_t cls_ = 0;
    double sample_weight_ = 1.0;
    double time_ = 0.0;
    std::int64_t version_ = 0;
    // Its weight at each half-life, the squares of these, and the weights again.
    std::array<double, 3 * kMostRungs> row_{};

    template <class T, class Index>
    void add(const T* values, const Index* columns, std::size_t count) {
        // records are rarely in the nearest cache: all are prefetched before the first is needed
        std::array<LadderPage::Slot*, kPiece> slots;
        for (std::size_t k = 0; k < count; ++k) {
            const auto column = static_cast<std::size_t>(columns[k]);
            LadderPage& page = pages_[column / kColumns];
            const std::size_t place = column % kColumns;
            const bool is_ready = page.version == version_ && page.seen(place);
            slots[k] = is_ready ? &page.slot(place) : nullptr;
            __builtin_prefetch(slots[k]);
        }
        const std::size_t squares = layout_.squared_at(cls_);
        const std::size_t weights = layout_.weight_at(cls_);
        const std::size_t n_squares = layout_.own().size();
        const std::size_t n_weights = layout_.rungs();
        for (std::size_t k = 0; k < count; ++k) {
            if (slots[k] == nullptr || slots[k]->record == 0) continue;
            const LadderPage& page = pages_[static_cast<std::size_t>(columns[k]) / kColumns];
            const double* record = page.record(*slots[k], layout_);
            const std::size_t first = std::min(squares, weights);
            const std::size_t end = std::max(squares + n_squares, weights + n_weights);
            for (std::size_t at = first; at < end; at += 64 / sizeof(double))
                __builtin_prefetch(record + at);
            __builtin_prefetch(record + end - 1);
        }
        for (std::size_t k = 0; k < count; ++k) {
            const double value = static_cast<double>(values[k]) + 0.0;  // -0 becomes 0
            if (value == 0.0 && !config_.absent_is_missing) continue;
            const auto column = static_cast<std::size_t>(columns[k]);
            LadderPage& page = pages_[column / kColumns];
            const std::size_t place = column % kColumns;
            if (page.version != version_ || !page.seen(place)) [[unlikely]]
                prepare(page, place, value);
            if (!add_atom(page, place, value)) log(page, place, value);
        }
    }

    // Adds the value to the record of its column if it is the atom and there is a record.
    bool add_atom(LadderPage& page, std::size_t place, double value) const {
        const LadderPage::Slot& slot = page.slot(place);
        if (slot.record == 0 || !LadderPage::is_same(value, slot.atom)) return false;
        double* record = page.record(slot, layout_);
        const std::size_t squares = layout_.squared_at(cls_);
        const std::size_t weights = layout_.weight_at(cls_);
        const std::size_t n_squares = layout_.own().size();
        const std::size_t n_weights = layout_.rungs();
        if (squares + n_squares == weights) {
            add(record + squares, row_.data() + n_weights, n_squares + n_weights);
        } else if (weights + n_weights == squares) {
            add(record + weights, row_.data(), n_weights + n_squares);
        } else {
            add(record + squares, row_.data() + n_weights, n_squares);
            add(record + weights, row_.data(), n_weights);
        }
        return true;
    }
    [[gnu::always_inline]] static void add(double* __restrict to, const double* __restrict from,
                                           std::size_t n) {
        for (std::size_t k = 0; k < n; ++k) to[k] += from[k];
    }

    // Prepares a page for this row, and for a value of the column.
    [[gnu::noinline]] void prepare(LadderPage& page, std::size_t place, double value) {
        if (page.version != version_) {
            sum_up(page);  // with the weights of the epochs in which the blocks were completed
            page.rebase(ledgers_, version_, layout_);
        }
        if (!page.seen(place)) page.admit(place, value, config_.absent_is_missing);
    }

    void log(LadderPage& page, std::size_t place, double value) {
        // before its log grows, a page sums up what it can
        if (page.log.size() == page.log.capacity()) [[unlikely]] {
            sum_up(page);
            if (add_atom(page, place, value)) return;
        }
        const auto due =
            page.append(page.slot(place), {value, cls_, static_cast<std::uint32_t>(place), time_},
                        sample_weight_, block_);
        if (due == LadderPage::Due::nothing) [[likely]]
            return;
        if (!page.is_due) due_.push_back(&page);
        page.is_due = true;
        if (due == LadderPage::Due::record) return;
        LadderPage::Mark mark{place, ledgers_[0].totals.size(), {}};
        for (const Ledger& ledger : ledgers_) mark.weight.push_back(ledger.weight());
        marks_[&page].push_back(std::move(mark));
    }

    std::vector<LadderPage::Mark> marks_of(LadderPage& page) {
        const auto found = marks_.find(&page);
        if (found == marks_.end()) return {};
        std::vector<LadderPage::Mark> marks = std::move(found->second);
        marks_.erase(found);
        return marks;
    }

    [[gnu::noinline]] void sum_up(LadderPage& page) {
        if (!page.is_due) return;
        page.sum_up(marks_of(page), block_, layout_, config_, scratch_);
        // otherwise the next values could trigger the same again
        if (2 * page.log.size() > page.log.capacity()) page.log.reserve(2 * page.log.capacity());
    }
};

}  // namespace driftsieve
