#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "driftsieve/base/config.hpp"
#include "driftsieve/kernels.hpp"
#include "driftsieve/ladder/ladder_cells.hpp"
#include "driftsieve/ladder/ladder_counts.hpp"
#include "driftsieve/ladder/ladder_list.hpp"
#include "driftsieve/quantiles/cells.hpp"

namespace driftsieve {

// Adds blocks to the list and the cells of a feature: see docs/guarantees.md. One for each thread.
//
// Values are counted into cells, at all half-lives at once. These values are sorted instead: those
// in cells that exceed their share at any half-life, those outside of the cells, and all of them if
// there may be at most 1 / epsilon distinct ones, which stay exact.
class LadderAbsorber {
  public:
    LadderAbsorber(const Config& config, std::size_t rungs)
        : config_(config),
          rungs_(rungs),
          nothing_(rungs, 0.0),
          keep_all_(rungs, -1.0),
          counts_(rungs) {}

    std::size_t rungs() const { return rungs_; }
    // Cells that CellMap::fit() is asked for: fewer than at one half-life, because the weights of
    // all half-lives are kept for each.
    static std::size_t cells(const Config& config) {
        return std::min(8 * config.exact_values() / 5, Config::kMostCells);
    }
    static constexpr std::size_t kCoarse = 64;
    // The cells that a feature counts into, or null.
    static const LadderCells* used(const std::vector<LadderCells>& counting) {
        return counting.empty() || !counting[0].are_used() ? nullptr : &counting[0];
    }

    // Mass that new rows may hide, as a share of their weight. The rest is left for merges.
    static constexpr double kShare = 0.8;
    // What the list may hide in addition, as a share of the weight that is counted into cells.
    static constexpr double kBeside = 0.1;

    // Adds a block to a list. `weight` is the weight of all rows, including these.
    void absorb(LadderList& list, const LadderColumn& values, std::span<const double> weight) {
        counts_.count(values);
        limit(values.total, {}, {});
        take_census(values.map.size() + 2, values.column.n_classes());
        add_to_list(list, values, weight);
    }

    // Adds a block to the cells of a feature, or to its list if there are few distinct values.
    // `waiting` is the weight of later rows that are known already, `weight` that of all rows,
    // including these and the waiting ones.
    void absorb(LadderList& list, std::vector<LadderCells>& counting, const LadderColumn& values,
                std::span<const double> weight, std::span<const double> waiting) {
        const bool goes_on = used(counting) != nullptr;
        counts_.count(values);
        limit(values.total, counting, waiting);
        if (goes_on) {
            add_to_cells(counting[0], values);
        } else {
            take_census(values.map.size() + 2, values.column.n_classes());
            if (n_used_ <= config_.exact_values() || values.map.size() == 0) {
                // the share of waiting rows is left for the cells
                std::vector<double> arrived(weight.begin(), weight.end());
                for (std::size_t r = 0; r < rungs_; ++r) arrived[r] -= waiting[r];
                add_to_list(list, values, arrived);
                for (std::size_t r = 0; r < rungs_ && !counting.empty(); ++r)
                    counting[0].weight[r] = std::min(0.0, counting[0].weight[r] + values.total[r]);
                return;
            }
            if (counting.empty()) counting.emplace_back(rungs_);
            counting[0].begin(values.map, values.column.n_classes());
        }
        take_items(values, goes_on ? nullptr : &counting[0], true);
        for (std::size_t r = 0; r < rungs_; ++r) counting[0].weight[r] += values.total[r];
        if (items_.empty()) return;
        list.widen_classes(values.column.n_classes(), rungs_);
        list.load_hidden(rungs_, hidden_);
        std::vector<double> counted(rungs_);
        for (std::size_t r = 0; r < rungs_; ++r) counted[r] = counting[0].weight[r] + waiting[r];
        merge(list, values.column.n_classes(), budget_beside(list, weight, counted));
        if (list.size() <= 2 * config_.exact_values()) return;
        fold(list, counting, budget_of(list, weight, nothing_));
        counting.emplace_back(rungs_);
        for (std::size_t r = 0; r < rungs_; ++r)
            counting[0].weight[r] = std::min(counted[r], 0.0) - waiting[r];
    }

    // Writes to `out` the list with all that was counted and, if there are any, the values of a
    // last block. No mini-bins are joined but those of that block.
    void read(const LadderList& list, const std::vector<LadderCells>& counting,
              const LadderColumn* values, std::size_t n_classes, LadderList& out) {
        const LadderCells* cells = used(counting);
        out = list;
        if (cells == nullptr && values == nullptr) return;
        const CellMap& map = cells != nullptr ? cells->map() : values->map;
        const std::size_t of_mini_bin = n_classes * rungs_;
        out.widen_classes(n_classes, rungs_);
        counts_.make_room(map.size() + 2, n_classes);
        std::fill_n(most_, rungs_, std::numeric_limits<double>::infinity());
        if (values != nullptr) {
            counts_.count(*values);
            limit(values->total, counting, {});
        }
        if (cells != nullptr) cells->add_to(counts_.data());
        take_census(map.size() + 2, n_classes);
        const bool all = cells == nullptr && n_used_ <= config_.exact_values();
        choose_members(values, map.size() + 2, all);
        const std::size_t of_slot = of_mini_bin + rungs_;
        kept_.assign(begin_.size() * of_slot, 0.0);
        std::size_t coarse = 0;
        double* line = lines_.data();
        for (std::size_t k = 0; k < n_used_; ++k) {
            const std::size_t m = used_[k];
            if (slot_[m] == 0) {
                items_.push_back(
                    {map.upper(m, coarse), cell_weights_.data() + k * of_mini_bin, true});
                continue;
            }
            // the values of the last block are joined only with what the cell held before
            double* kept = kept_.data() + (slot_[m] - 1u) * of_slot;
            double* total = kept + of_mini_bin;
            const bool is_outside = m == 0 || m + 1 == map.size() + 2;
            if (cells != nullptr && !is_outside) cells->get(m, kept);
            double left[kMostRungs];
            for (std::size_t r = 0; r < rungs_; ++r) {
                for (std::size_t c = 0; c < n_classes; ++c) total[r] += kept[c * rungs_ + r];
                left[r] = most_[r] - total[r];
            }
            const std::size_t first = items_.size();
            take_values(*values, slot_[m] - 1u, nullptr, all, left, line);
            if (std::all_of(total, total + rungs_, [](double w) { return w == 0.0; })) continue;
            for (std::size_t i = first; i < items_.size(); ++i) items_[i].besides = total;
            const double upper = map.upper(m, coarse);
            if (items_.size() > first && items_.back().value == upper) {
                double* last = line - of_mini_bin;  // the weights of that mini-bin
                for (std::size_t i = 0; i < of_mini_bin; ++i) last[i] += kept[i];
                if (items_.back().is_cell) items_.back().besides = nullptr;  // it is in its weights
                continue;
            }
            items_.push_back({upper, kept, true});
        }
        out.load_hidden(rungs_, hidden_);
        merge(out, n_classes, keep_all_);
    }

    // Makes the counted values part of the list. Without a budget, no mini-bins are joined.
    void fold(LadderList& list, std::vector<LadderCells>& counting,
              std::span<const double> budget = {}) {
        if (used(counting) == nullptr) return;
        LadderCells& cells = counting[0];
        const std::size_t n_classes = std::max(list.n_classes(), cells.n_classes());
        list.widen_classes(n_classes, rungs_);
        cells.widen_classes(n_classes);
        room_for_cells(cells.n_cells(), n_classes);
        n_used_ = kernels().ladder->census(rungs_, cells.data(), cells.n_cells(), n_classes, most_,
                                           used_.data(), too_full_.data(), cell_weights_.data());
        items_.clear();
        std::size_t coarse = 0;
        for (std::size_t k = 0; k < n_used_; ++k)
            items_.push_back({cells.map().upper(used_[k], coarse),
                              cell_weights_.data() + k * n_classes * rungs_, true});
        list.load_hidden(rungs_, hidden_);
        merge(list, n_classes, budget.empty() ? std::span<const double>(keep_all_) : budget);
        counting.clear();
    }

    // Adds a list of other rows; `weight` is the weight of all rows, including these. Uses no more
    // of the budget than is needed for a short list: see docs/guarantees.md.
    void absorb(LadderList& list, const LadderList& other, std::span<const double> weight,
                std::size_t n_classes) {
        list.widen_classes(n_classes, rungs_);
        // first the plain MERGE, which may hide more than either list does
        list.load_hidden(rungs_, hidden_);
        Room<double> theirs;
        other.load_hidden(rungs_, theirs);
        items_.clear();
        for (std::size_t i = 0; i < other.size(); ++i)
            items_.push_back({other.values()[i], other.weights() + i * n_classes * rungs_, false});
        interleave(list, other, theirs, n_classes);
        if (list.size() <= config_.exact_values()) return;
        list.load_hidden(rungs_, hidden_);
        std::vector<double> budget(rungs_, 0.0);
        for (std::size_t i = 0; i < hidden_.size(); ++i)
            budget[i % rungs_] = std::max(budget[i % rungs_], hidden_[i]);
        for (std::size_t r = 0; r < rungs_; ++r)
            budget[r] += std::max(0.0, config_.epsilon * weight[r] - budget[r]) / 3.0;
        items_.clear();
        merge(list, n_classes, budget);
    }

  private:
    const Config& config_;
    std::size_t rungs_;
    std::vector<double> nothing_;
    std::vector<double> keep_all_;  // a budget for which no mini-bins are joined
    double most_[kMostRungs] = {};  // largest mass that a mini-bin of the block may hide
    std::size_t n_used_ = 0;
    LadderCounts counts_;
    Room<double> cell_weights_;  // of the cells in use
    Room<std::uint16_t> used_;
    Room<std::uint8_t> too_full_;
    std::vector<std::uint16_t> slot_;  // by cell: its slot plus 1 if it is taken out, else 0
    std::vector<std::size_t> begin_;   // by slot: its first member
    struct Member {
        double value;
        std::uint32_t place;
    };
    std::vector<Member> members_;  // of the cells that are taken out, cell by cell
    Room<std::uint32_t> found_;
    std::vector<std::size_t> next_;
    Room<double> lines_;  // weights of the distinct values in cells that were taken out
    std::vector<LadderItem> items_;
    // Weights of earlier blocks in cells that were taken out, and their total at each half-life.
    Room<double> kept_;
    Room<double> hidden_;
    Room<double> out_values_;
    Room<double> out_hidden_;
    Room<double> out_weights_;

    std::size_t width(const BlockColumn& column) const { return column.n_classes() * rungs_; }

    // The mass that a cell may hide.
    void limit(std::span<const double> total, const std::vector<LadderCells>& counting,
               std::span<const double> waiting) {
        for (std::size_t r = 0; r < rungs_; ++r) {
            const double weight = total[r] + (counting.empty() ? 0.0 : counting[0].weight[r]) +
                                  (waiting.empty() ? 0.0 : waiting[r]);
            most_[r] = kShare * config_.epsilon * std::max(0.0, weight);
        }
    }

    void room_for_cells(std::size_t n_cells, std::size_t n_classes) {
        used_.resize(n_cells);
        too_full_.resize(n_cells);
        cell_weights_.resize((n_cells + 1) * n_classes * rungs_);
    }

    // Takes the block out of the cells.
    void take_census(std::size_t n_cells, std::size_t n_classes) {
        room_for_cells(n_cells, n_classes);
        n_used_ = kernels().ladder->census(rungs_, counts_.data(), n_cells, n_classes, most_,
                                           used_.data(), too_full_.data(), cell_weights_.data());
        for (std::size_t k = 0; k < n_used_; ++k)
            too_full_[k] |= used_[k] == 0 || used_[k] + 1u == n_cells;
    }

    // Adds the block to the cells of earlier ones, except for values that must stay exact.
    void add_to_cells(LadderCells& cells, const LadderColumn& values) {
        const std::size_t n_classes = values.column.n_classes();
        cells.widen_classes(n_classes);
        room_for_cells(cells.n_cells(), n_classes);
        n_used_ =
            kernels().ladder->add_cells(rungs_, counts_.data(), cells.n_cells(), n_classes, most_,
                                        cells.data(), used_.data(), cell_weights_.data());
        std::fill_n(too_full_.begin(), n_used_, std::uint8_t{1});
    }

    void add_to_list(LadderList& list, const LadderColumn& values, std::span<const double> weight) {
        take_items(values, nullptr, n_used_ <= config_.exact_values());
        list.widen_classes(values.column.n_classes(), rungs_);
        list.load_hidden(rungs_, hidden_);
        merge(list, values.column.n_classes(),
              stays_exact(list) ? keep_all_ : budget_of(list, weight, values.total));
    }

    // What the list may hide after rows of the weight `added`. If merges made it exceed its share,
    // it keeps that larger share.
    std::vector<double> budget_of(const LadderList& list, std::span<const double> weight,
                                  std::span<const double> added) const {
        std::vector<double> budget(rungs_);
        list.largest_hidden(budget);
        for (std::size_t r = 0; r < rungs_; ++r) {
            const double before = weight[r] - added[r];
            const double as_before = before > 0.0 ? budget[r] * (weight[r] / before) : 0.0;
            budget[r] = std::min(config_.epsilon * weight[r],
                                 std::max(kShare * config_.epsilon * weight[r], as_before));
        }
        return budget;
    }

    // What the list may hide while cells have `counted` that much.
    std::vector<double> budget_beside(const LadderList& list, std::span<const double> weight,
                                      std::span<const double> counted) const {
        std::vector<double> budget(rungs_);
        list.largest_hidden(budget);
        for (std::size_t r = 0; r < rungs_; ++r)
            budget[r] = std::max(budget[r], config_.epsilon * (kShare * (weight[r] - counted[r]) +
                                                               kBeside * counted[r]));
        return budget;
    }

    // The mini-bins of the block: the values of cells that are too full, all values if they are few
    // (`are_exact`), and the other cells, unless these go `into` the cells of the feature.
    void take_items(const LadderColumn& values, LadderCells* into, bool are_exact) {
        const BlockColumn& column = values.column;
        choose_members(&values, values.map.size() + 2, into == nullptr && are_exact);
        double* line = lines_.data();
        std::size_t coarse = 0;
        for (std::size_t k = 0; k < n_used_; ++k) {
            const std::size_t m = used_[k];
            const double* cell = cell_weights_.data() + k * width(column);
            if (slot_[m] != 0)
                take_values(values, slot_[m] - 1u, cell, are_exact, most_, line);
            else if (into != nullptr)
                into->put(m, cell);
            else
                items_.push_back({values.map.upper(m, coarse), cell, true});
        }
    }

    // Finds the values in the cells that are too full, or in all.
    void choose_members(const LadderColumn* values, std::size_t n_cells, bool all) {
        slot_.assign(n_cells, 0);
        items_.clear();
        begin_.assign(1, 0);
        if (values == nullptr) return;
        std::size_t n_slots = 0;
        for (std::size_t k = 0; k < n_used_; ++k)
            if (all || too_full_[k] != 0) slot_[used_[k]] = static_cast<std::uint16_t>(++n_slots);
        find_members(values->column, n_slots);
        lines_.resize(members_.size() * width(values->column));
    }

    void find_members(const BlockColumn& column, std::size_t n_slots) {
        begin_.assign(n_slots + 1, 0);
        members_.clear();
        if (n_slots == 0) return;
        found_.resize(column.size() + 1);
        std::size_t n_found = 0;
        for (std::uint32_t k = 0; k < column.size(); ++k) {  // a branch would be mispredicted
            found_[n_found] = k;
            n_found += slot_[counts_.index(k)] != 0;
        }
        found_.resize(n_found);
        for (const std::uint32_t k : found_) ++begin_[slot_[counts_.index(k)]];
        for (std::size_t s = 0; s < n_slots; ++s) begin_[s + 1] += begin_[s];
        members_.resize(found_.size());
        next_.assign(begin_.begin(), begin_.end());
        for (const std::uint32_t k : found_)
            members_[next_[slot_[counts_.index(k)] - 1u]++] = {column.value(k), k};
    }

    // The values of one cell, sorted.
    // They are joined while no half-life has more than `most` in a mini-bin, unless they stay
    // apart. `cell` is what they weigh, or null if that is not known.
    void take_values(const LadderColumn& values, std::size_t slot, const double* cell,
                     bool stay_apart, const double* most, double*& line) {
        const BlockColumn& column = values.column;
        const std::span<Member> members(members_.data() + begin_[slot],
                                        begin_[slot + 1] - begin_[slot]);
        if (members.empty()) return;
        const double first = members[0].value;
        const auto is_first = [&](const Member& member) { return member.value == first; };
        if (cell != nullptr && std::all_of(members.begin(), members.end(), is_first)) {
            items_.push_back({first + 0.0, cell, false});  // -0 becomes 0
            return;
        }
        std::sort(members.begin(), members.end(), [&](const Member& a, const Member& b) {
            return a.value < b.value || (a.value == b.value && a.place < b.place);
        });
        double held[kMostRungs] = {};
        double more[kMostRungs];
        double* open = nullptr;
        for (std::size_t i = 0; i < members.size();) {
            const double value = members[i].value;
            std::fill_n(more, rungs_, 0.0);
            std::fill_n(line, width(column), 0.0);
            for (; i < members.size() && members[i].value == value; ++i) {
                const std::size_t place = members[i].place;
                const auto cls = static_cast<std::size_t>(
                    std::upper_bound(column.begin.begin(), column.begin.end(), place) -
                    column.begin.begin() - 1);
                for (std::size_t r = 0; r < rungs_; ++r) {
                    line[cls * rungs_ + r] += values.weights[place * rungs_ + r];
                    more[r] += values.weights[place * rungs_ + r];
                }
            }
            bool joins = open != nullptr && !stay_apart;
            bool weighs = false;
            for (std::size_t r = 0; r < rungs_; ++r) {
                joins = joins && held[r] + more[r] <= most[r];
                weighs = weighs || more[r] > 0.0;
            }
            if (!weighs) continue;
            for (std::size_t r = 0; r < rungs_; ++r) held[r] = more[r] + (joins ? held[r] : 0.0);
            if (joins) {
                for (std::size_t k = 0; k < width(column); ++k) open[k] += line[k];
                items_.back().value = value;
                items_.back().is_cell = true;
            } else {
                items_.push_back({value + 0.0, line, false});
                open = line;
                line += width(column);
            }
        }
    }

    // Whether list and items have few enough distinct values to stay exact.
    bool stays_exact(const LadderList& list) const {
        const std::size_t few = config_.exact_values();
        if (list.size() > few || items_.size() > few) return false;
        std::size_t distinct = list.size();
        for (const LadderItem& item : items_)
            distinct += !std::binary_search(list.values(), list.values() + list.size(), item.value);
        return distinct <= few;
    }

    void merge(LadderList& list, std::size_t n_classes, std::span<const double> budget) {
        const std::size_t most = list.size() + items_.size();
        out_values_.resize(most);
        out_hidden_.resize(most * rungs_);
        out_weights_.resize(most * rungs_ * n_classes);
        const std::size_t at = kernels().ladder->merge(
            rungs_, {n_classes, list.values(), hidden_.data(), list.weights(), list.size(),
                     items_.data(), items_.size(), budget.data(), out_values_.data(),
                     out_hidden_.data(), out_weights_.data()});
        list.store({out_values_.data() + at, most - at}, out_hidden_.data() + at * rungs_,
                   out_weights_.data() + at * rungs_ * n_classes, n_classes, rungs_);
    }

    // MERGE of the list and another one, whose mini-bins are `items_`.
    void interleave(LadderList& list, const LadderList& other, const Room<double>& theirs,
                    std::size_t n_classes) {
        const std::size_t of_mini_bin = n_classes * rungs_;
        out_values_.clear();
        out_hidden_.clear();
        out_weights_.clear();
        const auto put = [&](const double* weights) {
            out_weights_.insert(out_weights_.end(), weights, weights + of_mini_bin);
        };
        std::size_t i = 0;
        std::size_t j = 0;
        while (i < list.size() || j < other.size()) {
            const double a = i < list.size() ? list.values()[i] : 0.0;
            const double b = j < other.size() ? other.values()[j] : 0.0;
            const bool ours = i < list.size() && (j == other.size() || a <= b);
            const bool also = j < other.size() && (i == list.size() || b <= a);
            out_values_.push_back(ours ? a : b);
            for (std::size_t r = 0; r < rungs_; ++r)
                out_hidden_.push_back((i < list.size() ? hidden_[i * rungs_ + r] : 0.0) +
                                      (j < other.size() ? theirs[j * rungs_ + r] : 0.0));
            put(ours ? list.weights() + i * of_mini_bin : items_[j].weights);
            if (ours && also)
                for (std::size_t k = 0; k < of_mini_bin; ++k)
                    out_weights_[out_weights_.size() - of_mini_bin + k] += items_[j].weights[k];
            i += ours;
            j += also;
        }
        list.store(out_values_, out_hidden_.data(), out_weights_.data(), n_classes, rungs_);
    }
};

}  // namespace driftsieve
