#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "driftsieve/base/ledger.hpp"
#include "driftsieve/base/parallel.hpp"
#include "driftsieve/sparse/grouped_values.hpp"
#include "driftsieve/sparse/row_stamps.hpp"
#include "driftsieve/sparse/sparse_page.hpp"

namespace driftsieve {

// Adds the rows of one update to pages, a block of rows at a time. First each thread groups the
// values of some rows by columns; then each adds the values of some groups to their pages, in the
// order of the rows. Only the totals of the classes, one addition for each row, are computed by a
// single thread. The result does not depend on where blocks end.
class PageFiller {
  public:
    // `ledger` is that of the store, and may have classes that come with these rows; before them
    // there were `n_classes`.
    PageFiller(const Config& config, const RecordLayout& layout, std::span<SparsePage> pages,
               const RowStamps& stamps, Ledger& ledger, std::size_t n_classes, unsigned n_threads)
        : config_(config),
          layout_(layout),
          pages_(pages),
          stamps_(stamps),
          ledger_(ledger),
          n_classes_(n_classes),
          block_(config.long_run()),
          parts_(std::max(n_threads, 1u)),
          workers_(parts_.size()) {}

    template <class Rows>
    void add(const Rows& rows) {
        for (std::size_t begin = 0; begin < rows.n_rows;) {
            if (stamps_.epoch(begin) != ledger_.epoch) {
                sum_up(true);  // with the weights of the epoch in which blocks were completed
                ledger_.advance(stamps_.epoch(begin));
            }
            begin = add_block(rows, begin);
        }
        sum_up(true);
        std::sort(summed_.begin(), summed_.end());
        summed_.erase(std::unique(summed_.begin(), summed_.end()), summed_.end());
        in_parallel(summed_.size(), workers_.size(),
                    [&](std::size_t k, Worker&) { pages_[summed_[k]].shrink(); });
    }

    std::size_t n_admitted() const {
        std::size_t n = 0;
        for (const Worker& worker : workers_) n += worker.n_admitted;
        return n;
    }

  private:
    static constexpr std::size_t kColumns = SparsePage::kColumns;
    static constexpr std::size_t kPart = std::size_t{1} << 18;    // values that a thread groups
    static constexpr std::size_t kFewest = std::size_t{1} << 13;  // worth another thread

    // A column of which a block of values is complete, with the last one in this row.
    struct NewMark {
        std::size_t row;
        std::size_t page;
        std::size_t place;

        bool operator<(const NewMark& other) const {
            return std::tie(row, page, place) < std::tie(other.row, other.page, other.place);
        }
    };
    struct Worker {
        PageScratch scratch;
        GroupedValues by_page;
        Room<std::uint32_t> others;  // values of a page that are not atoms
        std::vector<NewMark> marks;
        std::size_t n_admitted = 0;
    };

    const Config& config_;
    const RecordLayout& layout_;
    std::span<SparsePage> pages_;
    const RowStamps& stamps_;
    Ledger& ledger_;
    std::size_t n_classes_;  // up to the present row
    std::size_t block_;
    std::vector<GroupedValues> parts_;  // of the rows of a block, one for each thread
    std::vector<Worker> workers_;
    std::vector<std::size_t> due_;     // pages with marks
    std::vector<std::size_t> summed_;  // pages whose marks were removed

    // Calls work(k, worker) for all k < n; each thread has a worker.
    template <class Work>
    void in_parallel(std::size_t n, std::size_t n_threads, const Work& work) {
        std::atomic<std::size_t> n_begun = 0;
        parallel_work(n, 1, static_cast<unsigned>(n_threads), [&] {
            return [&work, &worker = workers_[n_begun++]](std::size_t k, std::size_t) {
                work(k, worker);
            };
        });
    }

    // Adds rows of one epoch from `begin` on; returns their end.
    template <class Rows>
    std::size_t add_block(const Rows& rows, std::size_t begin) {
        const std::size_t end = stamps_.end_of_epoch(begin);
        const std::size_t n_values = count_values(rows, begin, end);
        const std::size_t n_parts = std::clamp<std::size_t>(n_values / kFewest, 1, parts_.size());
        const std::size_t most = std::min(kPart, n_values / n_parts + 1);
        std::vector<std::size_t> cuts{begin};
        while (cuts.back() < end && cuts.size() <= n_parts)
            cuts.push_back(end_of_values(rows, cuts.back(), end, most));
        const ColumnGroups groups = ColumnGroups::of(
            pages_.size() * kColumns, count_values(rows, begin, cuts.back()), kColumns);
        in_parallel(cuts.size() - 1, n_parts, [&](std::size_t k, Worker&) {
            parts_[k].take(part_of(rows, cuts[k], cuts[k + 1] - cuts[k]), cuts[k] - begin,
                           config_.absent_is_missing, groups);
        });
        in_parallel(groups.count, n_parts, [&](std::size_t g, Worker& worker) {
            for (std::size_t k = 0; k + 1 < cuts.size(); ++k)
                layout_.squares() == Squares::none
                    ? add_group<false>(parts_[k].of(g), groups, g, begin, worker)
                    : add_group<true>(parts_[k].of(g), groups, g, begin, worker);
        });
        add_totals(begin, cuts.back());
        sum_up(false);
        return cuts.back();
    }

    // Adds the values of a group of pages.
    template <bool kWithSquares>
    void add_group(std::span<const GroupedValue> values, const ColumnGroups& groups, std::size_t g,
                   std::size_t first_row, Worker& worker) {
        const std::size_t n_pages = groups.width() / kColumns;
        SparsePage* const pages = pages_.data() + g * n_pages;
        if (n_pages == 1) {
            add_to_page<kWithSquares>(*pages, values, first_row, worker);
            return;
        }
        if (values.size() < 4 * n_pages) {  // too few to be sorted by page
            constexpr std::size_t kAhead = 8;
            for (std::size_t begin = 0, end; begin < values.size(); begin = end) {
                const std::size_t p = values[begin].column / kColumns;
                for (end = begin; end < values.size() && values[end].column / kColumns == p; ++end)
                    if (end + 2 * kAhead < values.size()) {
                        const GroupedValue& next = values[end + kAhead];
                        pages[values[end + 2 * kAhead].column / kColumns].prefetch();
                        pages[next.column / kColumns].prefetch(next.column % kColumns,
                                                               layout_.bytes());
                    }
                add_to_page<kWithSquares>(pages[p], values.subspan(begin, end - begin), first_row,
                                          worker);
            }
            return;
        }
        constexpr std::size_t kAhead = 2;  // pages
        GroupedValues& by_page = worker.by_page;
        by_page.take(values, {n_pages, static_cast<unsigned>(std::countr_zero(kColumns))});
        for (std::size_t p = 0; p < n_pages; ++p)
            if (!by_page.of(p).empty()) pages[p].prefetch();
        for (std::size_t p = 0; p < n_pages; ++p) {
            if (p + kAhead < n_pages)
                for (const GroupedValue& next : by_page.of(p + kAhead))
                    pages[p + kAhead].prefetch(next.column, layout_.bytes());
            add_to_page<kWithSquares>(pages[p], by_page.of(p), first_row, worker);
        }
    }

    // Rows that differ in weight or fade have sums of squares; others weigh 1.
    template <bool kWithSquares>
    void add_to_page(SparsePage& page, std::span<const GroupedValue> values, std::size_t first_row,
                     Worker& worker) {
        if (values.empty()) return;
        page.rebase(ledger_.epoch, layout_, worker.scratch.feature.ours);
        // members would be loaded again after every write to a record
        const RecordLayout layout = layout_;
        const std::uint32_t* const classes = stamps_.classes().data() + first_row;
        const std::size_t record_bytes = layout.bytes();
        if (values.size() > page.n_slots(layout_))
            for (std::size_t at = 0; at < page.n_slots(layout_) * record_bytes; at += 64)
                __builtin_prefetch(reinterpret_cast<const std::byte*>(page.records.data()) + at);
        worker.others.resize(values.size());
        std::uint32_t* const others = worker.others.data();
        std::size_t n_others = 0;
        // an address, because slots count from 1 and a pointer must not point before the records
        const auto before_records = [&] {
            return reinterpret_cast<std::uintptr_t>(page.first_record()) - record_bytes;
        };
        std::uintptr_t records = before_records();
        for (std::size_t k = 0; k < values.size(); ++k) {
            const auto [value, column, row] = values[k];
            const std::size_t place = column % kColumns;
            if (!page.seen(place)) [[unlikely]] {
                page.admit(place, value, config_.absent_is_missing, layout_);
                ++worker.n_admitted;
                records = before_records();
            }
            const std::uint32_t cls = classes[row];
            const double weight = kWithSquares ? stamps_.weight(first_row + row) : 1.0;
            auto* record =
                reinterpret_cast<std::byte*>(records + page.slot_of[place] * record_bytes);
            std::byte* of_class = record + layout.weight_at(cls);
            if constexpr (kWithSquares) {
                std::byte* sum = record + layout.squared_at(place_in(layout.squares(), cls));
                RecordLayout::put(sum, RecordLayout::at<double>(sum) +
                                           (std::isnan(value) ? 0.0 : weight * weight));
            } else {
                std::byte* seen = of_class + RecordLayout::kRows;
                const auto rows = RecordLayout::at<std::uint32_t>(seen);
                RecordLayout::put(seen, rows + (rows != RecordLayout::kMostRows ? 1u : 0u));
            }
            // equal bits are equal values: missing ones are no atoms
            if (RecordLayout::at<std::uint64_t>(record) == std::bit_cast<std::uint64_t>(value))
                RecordLayout::put(of_class, RecordLayout::at<double>(of_class) + weight);
            else
                others[n_others++] = static_cast<std::uint32_t>(k);
        }
        if (n_others == 0) return;
        page.append_all(
            n_others,
            [=](std::size_t i) {
                const auto& [value, column, row] = values[others[i]];
                return LoggedValue{value, classes[row], column % std::uint32_t{kColumns}};
            },
            [&](std::size_t i) {
                return kWithSquares ? stamps_.weight(first_row + values[others[i]].row) : 1.0;
            },
            block_,
            [&](std::size_t i) {
                const auto& [value, column, row] = values[others[i]];
                worker.marks.push_back({first_row + row,
                                        static_cast<std::size_t>(&page - pages_.data()),
                                        column % kColumns});
            });
    }

    // Adds rows to the totals, and gives pages the new marks with the weight of the rows before.
    void add_totals(std::size_t begin, std::size_t end) {
        std::vector<NewMark> marks;
        for (Worker& worker : workers_) {
            marks.insert(marks.end(), worker.marks.begin(), worker.marks.end());
            worker.marks.clear();
        }
        std::sort(marks.begin(), marks.end());
        auto mark = marks.begin();
        for (std::size_t i = begin; i < end; ++i) {
            n_classes_ = std::max<std::size_t>(n_classes_, stamps_.cls(i) + 1);
            if (mark != marks.end() && mark->row == i) {
                const double weight = ledger_.weight();
                for (; mark != marks.end() && mark->row == i; ++mark) {
                    SparsePage& page = pages_[mark->page];
                    if (page.marks.empty()) due_.push_back(mark->page);
                    page.marks.push_back({mark->place, n_classes_, weight});
                }
            }
            stamps_.add_to(ledger_, i);
        }
    }

    // Sums up complete blocks: all of them, or those of pages in which they are most of the log,
    // because the whole log is read for that.
    void sum_up(bool all) {
        const auto waits = [&](std::size_t p) {
            return !all && 2 * pages_[p].marks.size() * block_ < pages_[p].log.size();
        };
        const auto first = std::partition(due_.begin(), due_.end(), waits);
        const auto begin = static_cast<std::size_t>(first - due_.begin());
        in_parallel(due_.size() - begin, workers_.size(), [&](std::size_t k, Worker& worker) {
            SparsePage& page = pages_[due_[begin + k]];
            page.sum_up(page.marks, block_, config_, worker.scratch);
            page.marks.clear();
        });
        summed_.insert(summed_.end(), first, due_.end());
        due_.resize(begin);
    }
};

}  // namespace driftsieve
