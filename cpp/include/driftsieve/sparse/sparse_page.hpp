#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "driftsieve/base/fading.hpp"
#include "driftsieve/base/require.hpp"
#include "driftsieve/sparse/column_runs.hpp"
#include "driftsieve/sparse/fold_column.hpp"
#include "driftsieve/sparse/page_lists.hpp"
#include "driftsieve/sparse/record_layout.hpp"

namespace driftsieve {

// Buffers; one for each thread.
struct PageScratch {
    Scratch feature;
    ColumnRuns runs;
    std::vector<std::uint32_t> lists;
};

// The state of kColumns neighbouring sparse columns. Pages are independent of each other, so
// several threads can change different pages at once.
//
// A column that has occurred has a record (see RecordLayout). Its first value is its *atom*, and a
// row with the same value costs one addition. Other values are appended to the log of the page.
// The logged values of a column are summed up in blocks of a fixed number, independently of other
// columns. A complete block has a mark until it is summed up.
struct alignas(64) SparsePage {
    static constexpr std::size_t kColumns = 64;

    std::array<std::uint8_t, kColumns> slot_of{};                   // plus 1; 0: never seen
    std::vector<RecordUnit> records;                                // by slot
    std::int64_t epoch = std::numeric_limits<std::int64_t>::min();  // of all weights
    std::vector<LoggedValue> log;
    std::uint64_t spent = 0;  // values at the beginning of the log that are not NewValues
    std::vector<std::uint32_t> waiting;  // by place, values in the log; empty: none
    std::vector<double> weights;         // of the log; empty: all 1
    // A column of which values were summed up or are missing.
    struct Summed {
        std::uint64_t place;
        FeatureState state;
    };
    std::vector<Summed> summed;

    // A block of values that is complete, with the number of classes and the weight of all rows
    // before the row of its last value.
    struct Mark {
        std::size_t place;
        std::size_t n_classes;
        double weight;
    };
    std::vector<Mark> marks;  // during an update, those of blocks that are not summed up yet

    bool seen(std::size_t place) const { return slot_of[place] != 0; }
    std::size_t n_slots(const RecordLayout& layout) const {
        return records.size() / layout.units();
    }
    std::byte* first_record() { return reinterpret_cast<std::byte*>(records.data()); }
    std::byte* record(std::size_t place, const RecordLayout& layout) {
        return first_record() + (slot_of[place] - 1u) * layout.bytes();
    }
    const std::byte* record(std::size_t place, const RecordLayout& layout) const {
        return reinterpret_cast<const std::byte*>(records.data()) +
               (slot_of[place] - 1u) * layout.bytes();
    }
    // Prefetches what adding a value needs: first the page itself, and later what it points to.
    void prefetch() const {
        __builtin_prefetch(&slot_of);
        __builtin_prefetch(&records);
        __builtin_prefetch(&waiting);
    }
    void prefetch(std::size_t place, std::size_t record_bytes) const {
        const auto at = reinterpret_cast<std::uintptr_t>(records.data());
        __builtin_prefetch(
            reinterpret_cast<const void*>(at + slot_of[place] * record_bytes - record_bytes));
        if (waiting.empty()) return;
        __builtin_prefetch(&waiting[place]);
        __builtin_prefetch(log.data() + log.size());
    }

    // The atom of a column whose first value was missing: no value is equal to it.
    static constexpr double kNoAtom = -std::numeric_limits<double>::infinity();
    static bool has_atom(double value) { return value != kNoAtom; }

    // Makes the record of a column. `value` becomes its atom unless it is missing or 0.
    void admit(std::size_t place, double value, bool zeros_count, const RecordLayout& layout) {
        const std::size_t n = n_slots(layout) + 1;
        if (n * layout.units() > records.capacity())
            records.reserve(room_for_records(n) * layout.units());
        records.resize(n * layout.units());
        slot_of[place] = static_cast<std::uint8_t>(n_slots(layout));
        layout.set_value(record(place, layout), std::isnan(value) || (value == 0.0 && !zeros_count)
                                                    ? kNoAtom
                                                    : value + 0.0);  // -0 becomes 0
    }

    static constexpr std::size_t kNoBlocks = static_cast<std::size_t>(-1);
    // Appends n values, value_of(i) with weight_of(i). Calls complete(i) if a block of `size`
    // values of a column is complete with value i; the caller then makes a mark.
    template <class ValueOf, class WeightOf, class Complete>
    void append_all(std::size_t n, const ValueOf& value_of, const WeightOf& weight_of,
                    std::size_t size, const Complete& complete) {
        const std::size_t before = log.size();
        bool all_1 = weights.empty();
        for (std::size_t i = 0; i < n; ++i) all_1 = all_1 && weight_of(i) == 1.0;
        if (!all_1) {
            weights.resize(before, 1.0);
            make_room(weights, n);
            weights.resize(before + n);
            double* const to = weights.data() + before;
            for (std::size_t i = 0; i < n; ++i) to[i] = weight_of(i);
        }
        make_room(log, n);
        log.resize(before + n);
        if (waiting.empty()) waiting.assign(kColumns, 0);
        LoggedValue* const to = log.data() + before;
        std::uint32_t* const n_waiting = waiting.data();
        for (std::size_t i = 0; i < n; ++i) {
            const LoggedValue item = value_of(i);
            to[i] = item;
            if (++n_waiting[item.place] < size) [[likely]]
                continue;
            n_waiting[item.place] = 0;
            complete(i);
        }
    }
    // The same for one value; returns whether a block is complete.
    bool append(std::size_t place, std::uint32_t cls, double value, double weight,
                std::size_t size) {
        bool is_complete = false;
        const LoggedValue item{value, cls, static_cast<std::uint32_t>(place)};
        append_all(
            1, [&](std::size_t) { return item; }, [&](std::size_t) { return weight; }, size,
            [&](std::size_t) { is_complete = true; });
        return is_complete;
    }

    // Of a logged value.
    double weight(std::size_t i) const { return weights.empty() ? 1.0 : weights[i]; }

    FeatureState* state_of(std::size_t place) {
        for (Summed& column : summed)
            if (column.place == place) return &column.state;
        return nullptr;
    }
    const FeatureState* state_of(std::size_t place) const {
        return const_cast<SparsePage*>(this)->state_of(place);
    }
    FeatureState& make_state(std::size_t place) {
        if (FeatureState* known = state_of(place)) return *known;
        make_room(summed);
        return summed.emplace_back(Summed{place, {}}).state;
    }

    void rebase(std::int64_t target, const RecordLayout& layout, Summary& scratch) {
        const std::int64_t from = epoch;
        epoch = target;
        if (!records.empty() && from != target)
            scale(Fading::rebase_factor(target - from), layout, scratch);
    }
    void scale(double factor, const RecordLayout& layout, Summary& scratch) {
        if (factor == 1.0) return;
        for (std::size_t at = 0; at < records.size(); at += layout.units())
            layout.scale(reinterpret_cast<std::byte*>(&records[at]), factor);
        if (!log.empty() && weights.empty()) {
            make_room(weights, log.size());
            weights.assign(log.size(), 1.0);
        }
        for (double& weight : weights) weight *= factor;
        for (Summed& column : summed) column.state.scale(factor, scratch);
    }

    // Sums up blocks of `size` values, given their marks in the order in which they were made.
    void sum_up(std::span<const Mark> marks, std::size_t size, const Config& config,
                PageScratch& scratch) {
        // a column has a list for each of its blocks, with consecutive numbers
        std::array<std::size_t, kColumns + 1> first_list{};
        std::size_t n_classes = 0;
        for (const Mark& mark : marks) {
            ++first_list[mark.place + 1];
            n_classes = std::max(n_classes, mark.n_classes);
        }
        for (std::size_t k = 1; k <= kColumns; ++k) first_list[k] += first_list[k - 1];
        struct Next {
            std::size_t list;
            std::size_t room;  // in that list
        };
        std::array<Next, kColumns> next;
        for (std::size_t k = 0; k < kColumns; ++k) next[k] = {first_list[k], size};
        scratch.lists.resize(log.size());
        scratch.runs.take(log, weights, 1.0, marks.size(), n_classes,
                          [items = log.data(), lists = scratch.lists.data(), next = next.data(),
                           first_list = first_list.data(), size](std::size_t i) {
                              const std::size_t place = items[i].place;
                              const std::size_t list = next[place].list;
                              if (list >= first_list[place + 1])
                                  return lists[i] = ColumnRuns::kNoList;
                              if (--next[place].room == 0) next[place] = {list + 1, size};
                              return lists[i] = static_cast<std::uint32_t>(list);
                          });
        std::vector<NewValues> not_new(marks.size());
        for (std::size_t i = 0; i < spent; ++i) {
            if (scratch.lists[i] == ColumnRuns::kNoList || std::isnan(log[i].value)) continue;
            ++not_new[scratch.lists[i]].count;
            not_new[scratch.lists[i]].weight += weight(i);
        }
        for (const Mark& mark : marks) {
            const std::size_t list = first_list[mark.place]++;
            // missing ones first: what may be hidden is a share of the weight without them
            for (const ColumnRuns::Missing& item : scratch.runs.missing()) {
                if (item.list != list) continue;
                ClassState& state = make_state(mark.place).of(item.cls);
                state.missing += item.weight;
                state.missing_squared += item.weight * item.weight;
            }
            std::vector<ClassTotal> totals(mark.n_classes);
            totals[0].weight = mark.weight;  // the sum is all that matters
            const BlockColumn run = scratch.runs.of(list, mark.n_classes);
            if (run.size() == 0) continue;
            NewValues added{run.size() - not_new[list].count, 0.0};
            if (added.count > 0)
                added.weight = std::max(0.0, weight_of(run) - not_new[list].weight);
            fold_column(make_state(mark.place), run, added, totals, config, scratch.feature);
        }
        drop(scratch.lists);
    }

    // Sums up all values of each column that has at least `fewest`.
    void sum_up_most(std::size_t fewest, Mark mark, const Config& config, PageScratch& scratch) {
        std::vector<Mark> marks;
        for (mark.place = 0; mark.place < waiting.size(); ++mark.place) {
            if (waiting[mark.place] < fewest) continue;
            marks.push_back(mark);
            waiting[mark.place] = 0;
        }
        if (marks.empty()) return;
        sum_up(marks, kNoBlocks, config, scratch);
        shrink();
    }

    // Releases spare capacity.
    void shrink() {
        drop_spare_room(log);
        drop_spare_room(weights);
    }

    // Gives the records another layout.
    void lay_out(const RecordLayout& from, const RecordLayout& to) {
        std::vector<RecordUnit> wide;
        const std::size_t n = n_slots(from);
        wide.reserve(room_for_records(n) * to.units());
        wide.resize(n * to.units());
        for (std::size_t slot = 0; slot < n; ++slot)
            to.convert(from, reinterpret_cast<const std::byte*>(&records[slot * from.units()]),
                       reinterpret_cast<std::byte*>(&wide[slot * to.units()]));
        records.swap(wide);
    }

    // Capacity for n records; that of other lists is a power of 2.
    static std::size_t room_for_records(std::size_t n) {
        return n == 0 ? 0 : n <= 4 ? 4 : n <= 16 ? 16 : kColumns;
    }
    std::size_t heap_bytes(const RecordLayout& layout) const {
        std::size_t bytes = room_for_records(n_slots(layout)) * layout.bytes() +
                            capacity_for(log.size()) * sizeof(LoggedValue) +
                            capacity_for(weights.size()) * sizeof(double) +
                            waiting.size() * sizeof(std::uint32_t) +
                            capacity_for(summed.size()) * sizeof(Summed);
        for (const Summed& column : summed) bytes += column.state.nbytes();
        return bytes;
    }

  private:
    // Removes the values that are in a list.
    void drop(std::span<const std::uint32_t> lists) {
        const auto keep = [lists](auto* items) {
            std::size_t kept = 0;
            for (std::size_t i = 0; i < lists.size(); ++i) {
                items[kept] = items[i];
                kept += lists[i] == ColumnRuns::kNoList;
            }
            return kept;
        };
        spent = static_cast<std::uint64_t>(
            std::count(lists.begin(), lists.begin() + static_cast<std::ptrdiff_t>(spent),
                       ColumnRuns::kNoList));
        if (!weights.empty()) weights.resize(keep(weights.data()));
        log.resize(keep(log.data()));
    }
};

static_assert(sizeof(SparsePage) == 256);

}  // namespace driftsieve
