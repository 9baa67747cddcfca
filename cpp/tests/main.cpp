#include <cfloat>  // doctest needs DBL_EPSILON and does not include it
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
