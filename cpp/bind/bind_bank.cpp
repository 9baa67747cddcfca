#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "driftsieve/archive.hpp"
#include "driftsieve/bank.hpp"
#include "driftsieve/careful_update.hpp"
#include "known_labels.hpp"
#include "shared_bank.hpp"

namespace driftsieve::bind {
namespace {

// False if the rows are not sound, where nobody has looked before; then nothing has changed.
template <class Rows>
bool update(SharedBank& shared, const Rows& rows, const RowInfo& info, std::size_t n_classes,
            unsigned n_threads, bool checked, nb::object header) {
    const bool taken = shared.use([&](Bank& bank) {
        if (!checked) return update_if_sound(bank, rows, info, n_classes, n_threads);
        bank.update(rows, info, n_classes, n_threads);
        return true;
    });
    if (taken) shared.header = std::move(header);
    return taken;
}

template <class T>
bool update_dense(SharedBank& shared, const Matrix<T>& X, const Vector<std::uint32_t>& classes,
                  const std::optional<Vector<double>>& weights,
                  const std::optional<Vector<double>>& times, std::size_t n_classes,
                  unsigned n_threads, bool checked, nb::object header) {
    return update(shared, view(X), row_info(classes, weights, times), n_classes, n_threads, checked,
                  std::move(header));
}

struct Hold {
    SharedBank& shared;
    explicit Hold(SharedBank& held) : shared(held) { shared.hold(); }
    ~Hold() { shared.let_go(); }
};

template <class T>
bool update_plain(SharedBank& shared, const Matrix<T>& X, nb::handle y, unsigned n_threads) {
    const Bank& bank = shared.peek();
    if (shared.is_held() || X.shape(1) != bank.n_features() || !bank.is_dense() ||
        bank.clock() == Clock::time)
        return false;
    std::vector<std::uint32_t> classes;
    if (!shared.labels.find(y, classes) || classes.size() != X.shape(0)) return false;
    const auto update = [&](Bank& used) {
        return update_if_sound(used, view(X), RowInfo{classes, {}, {}}, shared.labels.size(),
                               n_threads);
    };
    constexpr std::size_t kFewValues = 4096;
    if (X.size() <= kFewValues && bank.only_keeps(X.shape(0), X.shape(1)))
        return shared.use_briefly(update);
    const Hold hold(shared);
    return shared.use(update);
}

// The fast lane for rows that come one by one: plain arrays, a dense bank of that width, labels
// that are known. Whatever needs a closer look is left alone, and False says so.
bool update_any_plain(SharedBank& shared, nb::handle X, nb::handle y, unsigned n_threads) {
    if (!is_plain_array(X)) return false;
    Matrix<double> doubles;
    if (nb::try_cast(X, doubles, false)) return update_plain(shared, doubles, y, n_threads);
    Matrix<float> floats;
    return nb::try_cast(X, floats, false) && update_plain(shared, floats, y, n_threads);
}

template <class T, class Index>
bool update_csr(SharedBank& shared, const Vector<T>& data, const Vector<Index>& indices,
                const Vector<Index>& indptr, std::size_t n_cols,
                const Vector<std::uint32_t>& classes, const std::optional<Vector<double>>& weights,
                const std::optional<Vector<double>>& times, std::size_t n_classes,
                unsigned n_threads, bool checked, nb::object header) {
    const CsrView<T, Index> matrix{data.data(),
                                   indices.data(),
                                   indptr.data(),
                                   indptr.shape(0) - 1,
                                   n_cols,
                                   checked,
                                   std::min(data.shape(0), indices.shape(0))};
    return update(shared, matrix, row_info(classes, weights, times), n_classes, n_threads, checked,
                  std::move(header));
}

using MaybeArray = std::optional<Doubles>;
using FrozenArrays =
    std::tuple<MaybeArray, MaybeArray, MaybeArray, MaybeArray, MaybeArray, MaybeArray, MaybeArray>;

// weight, mean, centred mean, variance, bins, edges, rank_error: None for what the bank does not
// keep
FrozenArrays freeze(SharedBank& shared, std::size_t begin, std::size_t n_features,
                    std::size_t n_bins, const Vector<std::uint32_t>& class_place,
                    unsigned n_threads) {
    const Config& config = shared.peek().config();
    const std::size_t n_classes = shared.peek().n_classes();
    if (class_place.shape(0) != n_classes) throw std::invalid_argument("not all classes");
    SnapshotArrays out;
    out.class_place = view(class_place);
    out.n_bins = n_bins;
    out.n_features = n_features;
    const std::size_t of_class = (config.ignore_missing ? 1 : 0) + (config.moments ? 3 : 0);
    NewArrays room(size_of({n_features, of_class, n_classes}) +
                   (config.quantiles ? size_of({n_features, n_bins, n_classes + 1}) : 0));
    const auto make = [&](bool wanted, double*& data, std::initializer_list<std::size_t> shape) {
        if (!wanted) return MaybeArray{};
        MaybeArray array = room.make(shape);
        data = array->data();
        return array;
    };
    FrozenArrays arrays{
        make(config.ignore_missing, out.weight, {n_classes, n_features}),
        make(config.moments, out.mean, {n_classes, n_features}),
        make(config.moments, out.centred_mean, {n_classes, n_features}),
        make(config.moments, out.variance, {n_classes, n_features}),
        make(config.quantiles, out.bins, {n_features, n_bins, n_classes}),
        make(config.quantiles, out.edges, {n_features, n_bins - 1}),
        make(config.quantiles, out.rank_error, {n_features}),
    };
    shared.use([&](const Bank& bank) { bank.freeze(begin, out, n_threads); });
    return arrays;
}

// For each feature 1, or 0 where every row was 0 so far; None where all may have been seen.
std::optional<nb::bytes> seen(SharedBank& shared, std::size_t begin, std::size_t n_features) {
    if (!shared.peek().is_sparse()) return {};
    const std::vector<char> flags =
        shared.use([&](const Bank& bank) { return bank.seen(begin, n_features); });
    return nb::bytes(flags.data(), flags.size());
}

std::vector<std::tuple<double, double, std::uint64_t>> totals(SharedBank& shared) {
    std::vector<std::tuple<double, double, std::uint64_t>> result;
    for (const ClassTotal& total : shared.use([](const Bank& bank) { return bank.totals(); }))
        result.emplace_back(total.weight, total.weight_squared, total.rows);
    return result;
}

void merge(SharedBank& shared, SharedBank& other, const Vector<std::uint32_t>& class_map,
           const Vector<std::uint64_t>& target, std::size_t n_classes, std::size_t n_features,
           double start, unsigned n_threads, nb::object header) {
    Bank copy = other.use([](const Bank& bank) { return bank; });
    const std::vector<std::size_t> columns(target.data(), target.data() + target.shape(0));
    shared.use([&](Bank& bank) {
        bank.merge(std::move(copy), view(class_map), columns, n_classes, n_features, start,
                   n_threads);
    });
    shared.header = std::move(header);
}

nb::bytes to_bytes(SharedBank& shared) {
    Writer writer;
    shared.use([&](Bank& bank) { bank.archive(writer); });
    return nb::bytes(writer.bytes.data(), writer.bytes.size());
}

SharedBank* cut(SharedBank& shared, std::size_t begin, std::size_t count) {
    return new SharedBank(shared.use([&](const Bank& bank) { return bank.cut(begin, count); }));
}

// Anything with a buffer: a bank may lie within a larger state, and is not copied out of it first.
SharedBank* from_bytes(const Vector<std::uint8_t>& bytes) {
    Bank bank;
    Reader reader(std::as_bytes(view(bytes)));
    bank.archive(reader);
    reader.expect_end();
    bank.check();
    return new SharedBank(std::move(bank));  // Python takes it
}

}  // namespace

void register_bank(nb::module_& m) {
    nb::enum_<Clock>(m, "Clock")
        .value("sample", Clock::sample)
        .value("batch", Clock::batch)
        .value("time", Clock::time);

    nb::class_<SharedBank> bank(m, "Bank");
    bank.def(
        "__init__",
        [](SharedBank* self, double epsilon, bool moments, bool quantiles, bool ignore_missing,
           Clock clock, double half_life) {
            new (self) SharedBank(
                Bank(Config{epsilon, moments, quantiles, ignore_missing}, clock, half_life));
        },
        nb::arg("epsilon"), nb::arg("moments"), nb::arg("quantiles"), nb::arg("ignore_missing"),
        nb::arg("clock"), nb::arg("half_life"));

    bank.def(
        "__enter__",
        [](SharedBank& shared) -> SharedBank& {
            shared.hold();
            return shared;
        },
        nb::rv_policy::reference);
    bank.def(
        "__exit__", [](SharedBank& shared, const nb::args&) { shared.let_go(); },
        nb::sig("def __exit__(self, *args: object) -> None"));

    const auto dense = [&](auto update) {
        bank.def("update_dense", update, nb::arg("X").noconvert(), nb::arg("classes").noconvert(),
                 nb::arg("weights").noconvert().none(), nb::arg("times").noconvert().none(),
                 nb::arg("n_classes"), nb::arg("n_threads"), nb::arg("checked"), nb::arg("header"));
    };
    dense(&update_dense<double>);
    dense(&update_dense<float>);
    bank.def("update_plain", &update_any_plain, nb::arg("X").none(), nb::arg("y").none(),
             nb::arg("n_threads"));
    bank.def(
        "know_labels",
        [](SharedBank& shared, KnownLabels::Numbers numbers,
           std::optional<Vector<std::int64_t>> integers) {
            shared.labels = KnownLabels(std::move(numbers), integers);
        },
        nb::arg("numbers"), nb::arg("integers").noconvert().none());
    const auto csr = [&](auto update) {
        bank.def("update_csr", update, nb::arg("data").noconvert(), nb::arg("indices").noconvert(),
                 nb::arg("indptr").noconvert(), nb::arg("n_cols"), nb::arg("classes").noconvert(),
                 nb::arg("weights").noconvert().none(), nb::arg("times").noconvert().none(),
                 nb::arg("n_classes"), nb::arg("n_threads"), nb::arg("checked"), nb::arg("header"));
    };
    csr(&update_csr<double, std::int32_t>);
    csr(&update_csr<double, std::int64_t>);
    csr(&update_csr<float, std::int32_t>);
    csr(&update_csr<float, std::int64_t>);

    bank.def("merge", &merge, nb::arg("other"), nb::arg("class_map").noconvert(),
             nb::arg("target").noconvert(), nb::arg("n_classes"), nb::arg("n_features"),
             nb::arg("start"), nb::arg("n_threads"), nb::arg("header"));
    bank.def(
        "catch_up",
        [](SharedBank& shared, double now) { shared.use([&](Bank& used) { used.catch_up(now); }); },
        nb::arg("now"));
    bank.def("freeze", &freeze, nb::arg("begin"), nb::arg("n_features"), nb::arg("n_bins"),
             nb::arg("class_place").noconvert(), nb::arg("n_threads"));
    bank.def("seen", &seen, nb::arg("begin"), nb::arg("n_features"));
    bank.def("cut", &cut, nb::arg("begin"), nb::arg("count"));
    bank.def("totals", &totals);
    bank.def("to_bytes", &to_bytes);
    bank.def_static("from_bytes", &from_bytes, nb::arg("bytes"),
                    nb::sig("def from_bytes(bytes: bytes | memoryview) -> Bank"));
    bank.def_rw("header", &SharedBank::header, nb::arg().none());
    const auto property = [&](const char* name, auto getter) {
        bank.def_prop_ro(name,
                         [getter](const SharedBank& shared) { return getter(shared.peek()); });
    };
    property("nbytes", [](const Bank& b) { return b.nbytes(); });
    property("epsilon", [](const Bank& b) { return b.config().epsilon; });
    property("moments", [](const Bank& b) { return b.config().moments; });
    property("quantiles", [](const Bank& b) { return b.config().quantiles; });
    property("ignore_missing", [](const Bank& b) { return b.config().ignore_missing; });
    property("clock", [](const Bank& b) { return b.clock(); });
    property("half_life", [](const Bank& b) { return b.half_life(); });
    property("n_features", [](const Bank& b) { return b.n_features(); });
    property("n_classes", [](const Bank& b) { return b.n_classes(); });
    property("ticks", [](const Bank& b) { return b.ticks(); });
    bank.def_prop_ro("is_whole", &SharedBank::is_whole);
    property("now", [](const Bank& b) { return b.now(); });
    property("is_sparse", [](const Bank& b) { return b.is_sparse(); });
    // for those who must know what rows may come to take before they are there
    property("block_rows",
             [](const Bank& b) { return DenseStore(b.config(), 0).rows_per_block(); });
    property("open_rows", [](const Bank& b) { return b.open_rows(); });
    property("exact_values", [](const Bank& b) { return b.config().exact_values(); });
    property("cells", [](const Bank& b) { return b.config().cells(); });
    m.attr("COUNTED_BYTES") = sizeof(CountedCells);
    m.attr("FEATURE_BYTES") = sizeof(FeatureState);
    m.attr("CLASS_BYTES") = sizeof(ClassState);
    m.attr("SPARSE_FEATURE_BYTES") = sizeof(SparseFeature);
    m.attr("LOGGED_BYTES") = sizeof(LoggedValue);
}

}  // namespace driftsieve::bind
