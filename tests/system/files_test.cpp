// Small kernel files, numbers in them, and what is not UTF-8.

#include "core/system/files.hpp"

#include "core/system/network.hpp"
#include "tests/catch.hpp"
#include "tests/system/tree.hpp"

namespace plimsoll::sys {

TEST_CASE("what cannot be read is nothing, not an empty text") {
  const testing::Tree tree;
  CHECK_FALSE(read_file(tree.root(), "/missing"));
  CHECK_FALSE(read_integer(tree.root(), "/missing"));
  CHECK(list_directory(tree.root(), "/missing").empty());
}

TEST_CASE("integers are whole or refused") {
  CHECK(parse_integer("42") == 42);
  CHECK(parse_integer("-1") == -1);
  for (const char* text : {"", " 1", "1 ", "1x", "x", "1.5", "99999999999999999999"}) {
    INFO(text);
    CHECK_FALSE(parse_integer(text));
  }
}

TEST_CASE("meminfo values, of the machine and of a node, and lines that are missing") {
  const std::string text = "MemTotal:  24 kB\nHugePages_Total:  3\nNode 0 MemFree:  2 kB\n";
  CHECK(meminfo_bytes(text, "MemTotal") == 24 * 1024);
  CHECK(meminfo_bytes(text, "HugePages_Total") == 3);
  CHECK(meminfo_bytes(text, "MemFree") == 2048);
  CHECK_FALSE(meminfo_bytes(text, "Total"));
  CHECK_FALSE(meminfo_bytes(text, "Hugepagesize"));
  CHECK_FALSE(meminfo_bytes("", "MemTotal"));
}

TEST_CASE("bytes that are not UTF-8 are replaced, the rest is kept") {
  CHECK(valid_utf8("node-7") == "node-7");
  CHECK(valid_utf8("n\xC3\xA9") == "n\xC3\xA9");
  CHECK(valid_utf8("node\xff\xe9-7") == "node\xEF\xBF\xBD\xEF\xBF\xBD-7");
  CHECK(valid_utf8("\xC0\xAF") == "\xEF\xBF\xBD\xEF\xBF\xBD");          // overlong
  CHECK(valid_utf8("\xED\xA0\x80").find('\xED') == std::string::npos);  // surrogate
  CHECK(valid_utf8("cut \xE2\x82") == "cut \xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_CASE("link speeds: only a real one is a speed") {
  const testing::Tree tree("net_speeds");
  int known = 0;
  for (const NetworkInterface& interface : network_interfaces(tree.root())) {
    INFO(interface.name);
    if (interface.speed.value) {
      ++known;
      CHECK(interface.name == "veth7");
      CHECK(*interface.speed.value == BytesPerSecond(1.25e9));
    } else {
      CHECK_FALSE(interface.speed.reason.empty());
    }
  }
  CHECK(known == 1);
  CHECK(network_interfaces(tree.root()).size() == 5);
  for (const NetworkInterface& interface : network_interfaces(""))
    if (interface.speed.value) CHECK(*interface.speed.value > BytesPerSecond(0));
}

}  // namespace plimsoll::sys
