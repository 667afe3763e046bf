// Who a report is: its id, its time, the hash of its bytes.

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>
#include <chrono>
#include <ctime>

#include "core/error.hpp"
#include "reports/report.hpp"

namespace plimsoll::reports {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  const int done =
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr);
  expects(done == 1 && length == 32, "OpenSSL computes SHA-256");
  std::string hex;
  for (unsigned int i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest.at(i));
  return hex;
}

StoredReport read_stored(const std::string& path) {
  const std::string text = read_text(path);
  StoredReport stored;
  stored.report = from_json(text, path);
  stored.reference = {.id = stored.report.id,
                      .sha256 = sha256_hex(text),
                      .path = path,
                      .created = stored.report.created};
  return stored;
}

ReportRef reference_to(const std::string& path) { return read_stored(path).reference; }

std::string new_id() {
  std::array<unsigned char, 16> bytes{};
  expects(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1,
          "OpenSSL has random bytes");
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0FU) | 0x40U);  // version 4: random
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3FU) | 0x80U);  // the RFC's variant
  std::string id;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) id += '-';
    id += fmt::format("{:02x}", bytes.at(i));
  }
  return id;
}

std::string now_rfc3339() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  const std::time_t seconds = micros / 1'000'000;
  std::tm utc{};
  expects(::gmtime_r(&seconds, &utc) != nullptr, "the time can be written as a date");
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     micros % 1'000'000);
}

}  // namespace plimsoll::reports
