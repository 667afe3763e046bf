// TCP over loopback.

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "probes/network/transport.hpp"

namespace plimsoll::probes {
namespace {

std::string reason(int error) { return std::system_category().message(error); }

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

// Throws what went wrong with which step; the caller says where.
void require(bool worked, const char* step) {
  if (!worked) throw std::system_error(errno, std::system_category(), step);
}

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

Address loopback(int family) {
  Address address;
  if (family == AF_INET) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::memcpy(&address.storage, &v4, address.size = sizeof v4);
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_addr = in6addr_loopback;
    std::memcpy(&address.storage, &v6, address.size = sizeof v6);
  }
  return address;
}

// Both ends of one connection.
std::array<Socket, 2> connect_to_self(int family) {
  Address address = loopback(family);
  const int type = SOCK_STREAM | SOCK_CLOEXEC;
  const Socket listener(socket(family, type, 0));
  require(listener.fd() >= 0, "socket");
  require(bind(listener.fd(), address.get(), address.size) == 0, "bind");
  require(listen(listener.fd(), 1) == 0, "listen");
  require(getsockname(listener.fd(), address.get(), &address.size) == 0, "getsockname");
  Socket client(socket(family, type, 0));
  require(client.fd() >= 0, "socket");
  require(connect(client.fd(), address.get(), address.size) == 0, "connect");
  Socket server(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  require(server.fd() >= 0, "accept");
  for (const Socket* end : {&client, &server}) {
    const int on = 1;
    require(setsockopt(end->fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "TCP_NODELAY");
  }
  return {std::move(client), std::move(server)};
}

class Tcp : public Transport {
 public:
  Tcp(std::array<Socket, 2> ends, std::string address)
      : ends_(std::move(ends)), address_(std::move(address)) {}

  void send(int side, std::span<const std::byte> message) override {
    const int fd = ends_.at(static_cast<std::size_t>(side)).fd();
    for (std::size_t done = 0; done < message.size();) {
      const ssize_t put = ::send(fd, message.data() + done, message.size() - done, MSG_NOSIGNAL);
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) give_up("send", errno);
      done += static_cast<std::size_t>(put);
    }
  }

  void receive(int side, std::span<std::byte> message) override {
    const int fd = ends_.at(static_cast<std::size_t>(side)).fd();
    for (std::size_t done = 0; done < message.size();) {
      const ssize_t got = recv(fd, message.data() + done, message.size() - done, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) give_up("receive", got == 0 ? ECONNRESET : errno);
      done += static_cast<std::size_t>(got);
    }
  }

  void abort() override {
    for (const Socket& end : ends_) shutdown(end.fd(), SHUT_RDWR);
  }

  [[nodiscard]] std::string describe() const override {
    return "TCP over " + address_ + ", TCP_NODELAY, blocking";
  }

 private:
  [[noreturn]] void give_up(const char* step, int error) const {
    throw Error(fmt::format("{}: {}", step, reason(error)), "the connection over " + address_,
                "run it again; if it stays, look at the firewall of the loopback device");
  }

  std::array<Socket, 2> ends_;
  std::string address_;
};

}  // namespace

std::unique_ptr<Transport> make_tcp_transport() {
  std::string failures;
  for (const auto& [family, address] : {std::pair{AF_INET, "127.0.0.1"}, {AF_INET6, "::1"}}) {
    try {
      return std::make_unique<Tcp>(connect_to_self(family), address);
    } catch (const std::system_error& error) {
      failures += fmt::format("{}{}: {}", failures.empty() ? "" : "; ", address, error.what());
    }
  }
  throw Error("no TCP over loopback: " + failures, "the loopback device",
              "bring it up: ip link set lo up");
}

}  // namespace plimsoll::probes
