#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <variant>

#include "driftsieve/svmlight.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace driftsieve::bind {
namespace {

// A second thread gets an error, not a corrupted parser: the GIL is released while parsing.
class Parser {
  public:
    explicit Parser(SvmlightParser::Options options) : parser_(options) {}

    template <class Use>
    auto use(Use use_it) {
        if (busy_.test_and_set()) {
            throw std::runtime_error("this SvmlightParser is in use by another thread");
        }
        struct Release {
            std::atomic_flag& flag;
            ~Release() { flag.clear(); }
        } release{busy_};
        return use_it(parser_);
    }

  private:
    SvmlightParser parser_;
    std::atomic_flag busy_;
};

// The memory of any bytes-like object, for as long as this lives.
class Bytes {
  public:
    explicit Bytes(nb::handle object) {
        if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
    }
    Bytes(const Bytes&) = delete;
    Bytes& operator=(const Bytes&) = delete;
    ~Bytes() { PyBuffer_Release(&view_); }

    std::string_view text() const {
        return {static_cast<const char*>(view_.buf), static_cast<std::size_t>(view_.len)};
    }

  private:
    Py_buffer view_;
};

template <class T>
nb::object as_array(std::shared_ptr<T[]> items, std::size_t n) {
    T* const data = items.get();
    auto owner = std::make_unique<std::shared_ptr<T[]>>(std::move(items));
    nb::capsule capsule(owner.get(),
                        [](void* p) noexcept { delete static_cast<std::shared_ptr<T[]>*>(p); });
    owner.release();  // now the capsule's
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {n}, capsule));
}

nb::tuple take(Parser& self, std::size_t max_rows) {
    CsrRows rows = self.use([max_rows](SvmlightParser& parser) { return parser.take(max_rows); });
    const auto indices = [&rows](auto& items) { return as_array(std::move(items), rows.n_pairs); };
    return nb::make_tuple(as_array(std::move(rows.labels), rows.n_rows),
                          as_array(std::move(rows.indptr), rows.n_rows + 1),
                          std::visit(indices, rows.indices),
                          as_array(std::move(rows.values), rows.n_pairs));
}

}  // namespace

void register_svmlight(nb::module_& m) {
    nb::class_<Parser>(m, "SvmlightParser", "A stream of svmlight text to rows in CSR form.")
        .def(
            "__init__",
            [](Parser* self, bool zero_based, bool allow_nan, bool skip_bad, std::size_t max_line) {
                new (self) Parser({{zero_based, allow_nan}, skip_bad, max_line});
            },
            nb::kw_only(), "zero_based"_a, "allow_nan"_a, "skip_bad"_a, "max_line"_a)
        .def(
            "feed",
            [](Parser& self, nb::handle data) {
                const Bytes bytes(data);
                // The bytes are pinned, and the parser copies them before it relies on them.
                nb::gil_scoped_release release;
                self.use([&](SvmlightParser& parser) { parser.feed(bytes.text()); });
            },
            "data"_a, nb::sig("def feed(self, data: bytes | bytearray | memoryview) -> None"),
            "Parse a piece of the text, cut anywhere.")
        .def(
            "finish",
            [](Parser& self) { self.use([](SvmlightParser& parser) { parser.finish(); }); },
            nb::call_guard<nb::gil_scoped_release>(),  // the last line may be very long
            "End the text: its last line may lack a newline.")
        .def("take", &take, "max_rows"_a,
             nb::sig("def take(self, max_rows: int) -> tuple["
                     "numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.int64], "
                     "numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], "
                     "numpy.typing.NDArray[numpy.float64]]"),
             "The oldest rows waiting: labels, indptr, indices and data, without copying them.")
        .def_prop_ro(
            "rows",
            [](Parser& self) { return self.use([](auto& parser) { return parser.rows(); }); },
            "Rows waiting.")
        .def_prop_ro(
            "lines",
            [](Parser& self) { return self.use([](auto& parser) { return parser.lines(); }); },
            "Lines read so far.")
        .def_prop_ro(
            "n_features",
            [](Parser& self) { return self.use([](auto& parser) { return parser.n_columns(); }); },
            "One more than the largest column seen.")
        .def_prop_ro(
            "lines_skipped",
            [](Parser& self) {
                return self.use([](auto& parser) { return parser.lines_skipped(); });
            },
            "Lines at fault that were left out.")
        .def_prop_ro(
            "faults",
            [](Parser& self) { return self.use([](auto& parser) { return parser.faults(); }); },
            "What was wrong with the first few lines left out.");
}

}  // namespace driftsieve::bind
