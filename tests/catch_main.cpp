// The main() of every test executable.

#define CATCH_CONFIG_MAIN
#include "tests/catch.hpp"
