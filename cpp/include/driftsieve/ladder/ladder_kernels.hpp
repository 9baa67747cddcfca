#pragma once

#include <cstddef>
#include <cstdint>

namespace driftsieve {

// The most half-lives that share one state.
inline constexpr std::size_t kMostRungs = 16;

// A mini-bin of a block: its weights, class after class, each at all half-lives. One that stands
// for a cell hides all it holds, at each half-life; else it hides nothing of that. `besides` is
// what it hides in addition at each half-life, or null.
struct LadderItem {
    double value;
    const double* weights;
    bool is_cell;
    const double* besides = nullptr;
};

// The inner loops over numbers that stand side by side for `rungs` half-lives, 2 to kMostRungs; see
// Kernels.
struct LadderKernels {
    // Columns side by side; the weights of row order[k] stand at weights + k * rungs.
    static constexpr std::size_t kStrip = 16;
    struct Rows {
        const double* first_column;
        std::ptrdiff_t stride;
        const std::uint32_t* order;
        const double* weights;
        std::size_t n;
    };
    // Power sums of columns less shifts[j], at half-life r in sum[r * width + j]. The number of
    // columns, `width`, is a multiple of kStrip.
    void (*power_sums)(std::size_t rungs, const Rows& rows, std::size_t width, const double* shifts,
                       double* sum, double* squares);

    // Adds the weights of values of one class to their cells. The cell of each value, which follows
    // from its finest cell and the cuts (see Kernels), is kept in `index`.
    //
    // A whole cache line has eight half-lives of a cell. So the cells begin at a cache line, with
    // the numbers of as many half-lives as make whole lines; those of the others follow all of
    // them. Each class has room_of() numbers.
    struct Cuts {
        const std::uint32_t* cut;
        unsigned bits;
    };
    void (*weigh_cells)(std::size_t rungs, const std::uint32_t* finest, const double* weights,
                        std::size_t n, const Cuts& cuts, std::uint16_t* index, double* cells,
                        std::size_t n_cells);
    static constexpr std::size_t room_of(std::size_t n_cells, std::size_t rungs) {
        return (n_cells * rungs + 7) / 8 * 8;
    }
    // Position of the number of cell m at half-life r.
    static constexpr std::size_t place_of(std::size_t m, std::size_t r, std::size_t n_cells,
                                          std::size_t rungs) {
        const std::size_t n_first = rungs / 8 * 8;
        return r < n_first ? m * n_first + r
                           : n_cells * n_first + m * (rungs - n_first) + (r - n_first);
    }

    // Takes out of the cells, class after class, what they hold: the numbers of those that are not
    // empty, whether they hold more than `most` at any half-life, and their weights, class after
    // class, each at all half-lives. There is room for all cells. They are empty then.
    std::size_t (*census)(std::size_t rungs, double* cells, std::size_t n_cells,
                          std::size_t n_classes, const double* most, std::uint16_t* used,
                          std::uint8_t* too_full, double* lines);

    // Adds the cells of a block to those of earlier blocks, both class after class, and empties
    // them. Not added are cells that would then hold more than `most` at any half-life, and the
    // outermost two. The numbers of those that are not empty are written to `taken`, and their
    // weights in the block, class after class, to `lines`. There is room for all cells.
    std::size_t (*add_cells)(std::size_t rungs, double* block, std::size_t n_cells,
                             std::size_t n_classes, const double* most, double* cells,
                             std::uint16_t* taken, double* lines);

    // MERGE and PRUNE (see summary.hpp) of a list and the mini-bins of a block, at all half-lives
    // at once: mini-bins are joined where what is hidden stays within the budget at each of them.
    // The result is written from the end of the room for n + n_items on downwards, and where it
    // begins is returned.
    struct Merge {
        std::size_t n_classes;
        const double* values;
        const double* hidden;   // at each half-life
        const double* weights;  // class after class, at each half-life
        std::size_t n;
        const LadderItem* items;
        std::size_t n_items;
        const double* budget;
        double* out_values;
        double* out_hidden;
        double* out_weights;
    };
    std::size_t (*merge)(std::size_t rungs, const Merge& lists);

    // Cuts a list into quantile bins as BinCutter does a summary, at all half-lives in one walk.
    // Edges and bins (bin after bin, class after class) stand half-life after half-life. They are
    // NaN and 0 before, and stay so at a half-life without weight.
    struct Cut {
        std::size_t n_classes;
        const double* values;
        const double* weights;  // class after class, at each half-life
        std::size_t n;
        std::size_t n_bins;
        double* edges;
        double* bins;
    };
    void (*cut)(std::size_t rungs, const Cut& list);

    // Adds the cells of earlier blocks, of the first `n_earlier` classes, to those of a block, both
    // class after class. Writes the weight of all of them, and that of the fullest of the earlier
    // cells, at each half-life.
    struct Cells {
        std::size_t n_classes;
        std::size_t n_cells;
        double* cells;
    };
    void (*add_up)(std::size_t rungs, const double* earlier, std::size_t n_earlier,
                   const Cells& block, double* total, double* fullest);
    // Finds, for the weights `total` of all cells, those with an edge of n_bins quantile bins at
    // any half-life, cell after cell, and empties all cells. `lines` gets the weights of the
    // classes at that half-life in the cells between this one and the one with its edge before;
    // `rest` those behind the last one, class after class, each at all half-lives. There is room
    // for an edge of each bin at each half-life. Returns their number.
    struct EdgeCell {
        std::uint16_t cell;
        std::uint16_t rung;
        double before;  // weight of the cells before it, and with it
        double after;
    };
    std::size_t (*find_edges)(std::size_t rungs, const Cells& cells, const double* total,
                              std::size_t n_bins, EdgeCell* found, double* lines, double* rest);

    // n lines of one number for each half-life: as floats in units of their own, rounded up, and
    // back; and the largest of each half-life, or 0.
    void (*unpack)(std::size_t rungs, const float* packed, std::size_t n, const double* unit,
                   double* out);
    void (*largest)(std::size_t rungs, const double* lines, std::size_t n, double* out);
    void (*pack)(std::size_t rungs, const double* lines, std::size_t n, const double* per_unit,
                 float* out);
};

}  // namespace driftsieve
