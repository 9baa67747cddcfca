#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "driftsieve/base/ledger.hpp"
#include "driftsieve/base/sparse_row.hpp"
#include "driftsieve/sparse/row_stamps.hpp"
#include "driftsieve/sparse/sparse_page.hpp"

namespace driftsieve {

// Adds rows to pages, as far as their values lie in the columns of one thread. Records are seldom
// in the nearest cache, so rows are taken in pieces, and while one piece is added the records of
// the next are looked up and asked for.
template <class T, class Index>
class PageFiller {
  public:
    // `ledger` is that of the store before the first row, when it had `n_classes`.
    PageFiller(const Config& config, const RecordLayout& layout, std::span<SparsePage> pages,
               const RowStamps& stamps, const Ledger& ledger, std::size_t n_classes)
        : config_(config),
          layout_(layout),
          pages_(pages),
          stamps_(stamps),
          ledger_(ledger),
          block_(config.long_run()) {
        ledger_.totals.resize(n_classes);
    }

    // Row i. Its values must stay where they are until it has been added.
    void take_row(std::size_t i, const SparseRow<T, Index>& row) {
        std::size_t begin = 0;
        do {
            const std::size_t count = std::min(row.count - begin, kPiece);
            take({row.values + begin, row.columns + begin, count, i, begin + count == row.count});
            begin += count;
        } while (begin < row.count);
    }
    // Adds what has been taken.
    void finish() { take({}); }
    // Sums up all blocks that are complete.
    void sum_up() {
        for (auto& [page, marks] : marks_) {
            page->sum_up(marks, block_, config_, scratch_);
            page->shrink();
        }
        marks_.clear();
    }

    std::size_t n_admitted() const { return n_admitted_; }

  private:
    static constexpr std::size_t kColumns = SparsePage::kColumns;
    static constexpr std::size_t kPiece = 128;

    struct Piece {
        const T* values = nullptr;
        const Index* columns = nullptr;
        std::size_t count = 0;
        std::size_t row = 0;
        bool ends_row = false;
    };

    const Config& config_;
    const RecordLayout& layout_;
    std::span<SparsePage> pages_;
    const RowStamps& stamps_;
    Ledger ledger_;
    std::size_t block_;
    std::unordered_map<SparsePage*, std::vector<SparsePage::Mark>> marks_;
    PageScratch scratch_;
    std::size_t n_admitted_ = 0;
    Piece piece_;  // to be added when the next one comes
    // Of each value of a piece its record; null where the page has to be made ready first.
    using Records = std::array<std::byte*, kPiece>;
    Records buffers_[2];
    std::size_t current_ = 0;  // the one that belongs to piece_

    void take(const Piece& next) {
        if (piece_.count > 0 || piece_.ends_row) {
            ledger_.advance(stamps_.epoch(piece_.row));
            stamps_.admit_class(ledger_, piece_.row);
            layout_.squares() == Squares::none ? add<false>(next) : add<true>(next);
            // after its values: when these are summed up, its weight must not have been spent
            if (piece_.ends_row) stamps_.add_to(ledger_, piece_.row);
        } else {
            std::fill_n(buffers_[1 - current_].begin(), next.count, nullptr);
        }
        piece_ = next;
        current_ = 1 - current_;
    }

    // The record of a column; null if it has none, or has one of an earlier epoch.
    [[gnu::always_inline]] static std::byte* find(SparsePage* pages, Index index,
                                                  std::size_t record_bytes, std::int64_t epoch) {
        const auto column = static_cast<std::size_t>(index);
        SparsePage& page = pages[column / kColumns];
        const std::size_t slot = page.slots[column % kColumns];
        auto* records = reinterpret_cast<std::byte*>(page.records.data());
        return slot == 0 || page.epoch != epoch ? nullptr : records + (slot - 1) * record_bytes;
    }

    // Adds the piece. Rows that differ in weight or fade have sums of squares.
    template <bool kWithSquares>
    void add(const Piece& next) {
        const auto [values, columns, count, row, ends_row] = piece_;
        const std::uint32_t cls = stamps_.cls(row);
        const double weight = stamps_.weight(row);
        const double squared = weight * weight;
        // a count stops at kMostRows
        const std::uint32_t rows = ledger_.totals[cls].rows < RecordLayout::kMostRows;
        const std::int64_t next_epoch = next.count == 0 ? 0 : stamps_.epoch(next.row);
        const std::size_t weight_at = layout_.weight_at(cls);
        const std::size_t squared_at = layout_.squared_at(place_in(layout_.squares(), cls));
        const std::size_t record_bytes = layout_.bytes();
        // members would be loaded again after every write to a record
        SparsePage* const pages = pages_.data();
        std::byte** const records = buffers_[current_].data();
        std::byte** const next_records = buffers_[1 - current_].data();
        const Index* const next_columns = next.columns;
        const std::size_t next_count = next.count;
        const auto look_up = [=](std::size_t k) {
            next_records[k] = find(pages, next_columns[k], record_bytes, next_epoch);
            __builtin_prefetch(next_records[k]);
        };
        for (std::size_t k = 0; k < count; ++k) {
            if (k < next_count) look_up(k);
            const double value = static_cast<double>(values[k]) + 0.0;  // there is one zero only
            const auto bits = std::bit_cast<std::uint64_t>(value);
            if (records[k] == nullptr || bits == 0) [[unlikely]] {
                if (bits == 0 && !config_.absent_is_missing) continue;
                prepare(k, value, next, std::min(k + 1, next_count), next_epoch);
            }
            std::byte* record = records[k];
            std::byte* of_class = record + weight_at;
            if constexpr (kWithSquares) {
                std::byte* sum = record + squared_at;
                RecordLayout::put(
                    sum, RecordLayout::at<double>(sum) + (std::isnan(value) ? 0.0 : squared));
            } else {
                std::byte* seen = of_class + RecordLayout::kRows;
                RecordLayout::put(seen, RecordLayout::at<std::uint32_t>(seen) + rows);
            }
            // equal bits are equal values: missing ones are no atoms
            if (RecordLayout::at<std::uint64_t>(record) == bits) {
                RecordLayout::put(of_class, RecordLayout::at<double>(of_class) + weight);
            } else {
                const auto column = static_cast<std::size_t>(columns[k]);
                log(pages[column / kColumns], column % kColumns, cls, value, weight);
            }
        }
        for (std::size_t k = count; k < next_count; ++k) look_up(k);
    }

    // Makes the page of value k ready for it. Of the next piece so many have been looked up.
    [[gnu::noinline]] void prepare(std::size_t k, double value, const Piece& next,
                                   std::size_t n_looked_up, std::int64_t next_epoch) {
        const auto column = static_cast<std::size_t>(piece_.columns[k]);
        SparsePage& page = pages_[column / kColumns];
        const RecordUnit* const before = page.records.data();
        if (page.epoch != ledger_.epoch) {
            sum_up(page);  // with weights of the epoch in which the blocks were completed
            page.rebase(ledger_.epoch, layout_, scratch_.feature.ours);
        }
        if (!page.seen(column % kColumns)) {
            page.admit(column % kColumns, value, config_.absent_is_missing, layout_);
            ++n_admitted_;
        }
        const auto look_up = [&](std::span<const Index> columns, Records& records,
                                 std::int64_t epoch) {
            const auto below = [](Index index, std::size_t least) {
                return static_cast<std::size_t>(index) < least;
            };
            const std::size_t first = column / kColumns * kColumns;
            auto at = std::lower_bound(columns.begin(), columns.end(), first, below);
            for (; at != columns.end() && below(*at, first + kColumns); ++at)
                records[static_cast<std::size_t>(at - columns.begin())] =
                    find(pages_.data(), *at, layout_.bytes(), epoch);
        };
        look_up({piece_.columns, piece_.count}, buffers_[current_], ledger_.epoch);
        if (page.records.data() != before)  // all records of the page have moved
            look_up({next.columns, n_looked_up}, buffers_[1 - current_], next_epoch);
    }

    void log(SparsePage& page, std::size_t place, std::uint32_t cls, double value, double weight) {
        // a page that needs more room first gets rid of what can be summed up
        if (page.log.size() == page.log.capacity()) [[unlikely]]
            sum_up(page);
        if (page.append(place, cls, value, weight, block_)) [[unlikely]]
            marks_[&page].push_back({place, ledger_.totals.size(), ledger_.weight()});
    }

    [[gnu::noinline]] void sum_up(SparsePage& page) {
        const auto found = marks_.find(&page);
        if (found == marks_.end()) return;
        page.sum_up(found->second, block_, config_, scratch_);
        marks_.erase(found);
        // else the same might be done again soon, for few values
        if (2 * page.log.size() > page.log.capacity()) page.log.reserve(2 * page.log.capacity());
    }
};

}  // namespace driftsieve
