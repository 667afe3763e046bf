// Reading IDX through zlib, which also reads files that are not compressed.

#include "trainer/data/idx.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "core/error.hpp"

namespace plimsoll::trainer {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 36;  // a header that asks for more is broken

class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)), file_(gzopen(path_.c_str(), "rb")) {
    if (!file_) fail("cannot be opened", "check that it exists and may be read");
    gzbuffer(file_.get(), 1 << 17);
  }

  // Reads exactly that many bytes.
  void read(std::uint8_t* into, std::int64_t count, const std::string& what) {
    std::int64_t got = 0;
    while (got < count) {
      const auto piece = static_cast<unsigned>(std::min<std::int64_t>(count - got, 1 << 30));
      const int n = gzread(file_.get(), into + got, piece);
      if (n < 0) fail("is damaged: " + zlib_text(), "download or install it again");
      if (n == 0) {
        fail("ends early: " + what + " needs " + std::to_string(count) + " bytes, " +
                 std::to_string(got) + " are there",
             "download or install it again");
      }
      got += n;
    }
  }
  void expect_end() {
    std::uint8_t extra = 0;
    const int n = gzread(file_.get(), &extra, 1);
    if (n < 0) fail("is damaged: " + zlib_text(), "download or install it again");
    if (n > 0) fail("is longer than its header says", "download or install it again");
  }

  [[noreturn]] void fail(const std::string& problem, const std::string& fix) const {
    throw Error("IDX file " + problem, path_, fix);
  }

 private:
  std::string zlib_text() const {
    int code = 0;
    return gzerror(file_.get(), &code);
  }
  struct Close {
    void operator()(gzFile_s* file) const { gzclose(file); }
  };
  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
};

std::string hex(std::uint32_t value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0x%08x", value);
  return text.data();
}

std::uint32_t big_endian(Reader& reader, const std::string& what) {
  std::array<std::uint8_t, 4> b{};
  reader.read(b.data(), 4, what);
  return std::uint32_t{b[0]} << 24 | std::uint32_t{b[1]} << 16 | std::uint32_t{b[2]} << 8 | b[3];
}

}  // namespace

IdxArray read_idx(const std::filesystem::path& path) {
  const std::filesystem::path packed = path.string() + ".gz";
  Reader reader(!std::filesystem::exists(path) && std::filesystem::exists(packed) ? packed.string()
                                                                                  : path.string());
  // Two zero bytes, the element type (0x08: unsigned byte), the number of dimensions.
  const std::uint32_t magic = big_endian(reader, "the magic number");
  const std::uint32_t rank = magic & 0xFF;
  if (magic >> 8 != 0x08 || rank == 0) {
    reader.fail("has magic number " + hex(magic),
                "give an IDX file of unsigned bytes: 0x00000801 for labels, 0x00000803 for images");
  }
  IdxArray array;
  std::int64_t total = 1;
  for (std::uint32_t i = 0; i < rank; ++i) {
    const std::int64_t size = big_endian(reader, "the dimensions");
    array.dimensions.push_back(size);
    if (size == 0 || size > kMostBytes / total) {
      reader.fail("has an impossible dimension " + std::to_string(size), "install it again");
    }
    total *= size;
  }
  array.bytes.resize(static_cast<std::size_t>(total));
  reader.read(array.bytes.data(), total, "its data");
  reader.expect_end();
  return array;
}

}  // namespace plimsoll::trainer
