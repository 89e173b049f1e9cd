#include "log_analyzer/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace log_analyzer {
namespace {

class descriptor {
 public:
  explicit descriptor(int fd) noexcept : fd_(fd) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

}  // namespace

mapped_file::mapped_file(const std::string& path) {
  const auto fail = [&path](int code) { throw std::system_error(code, std::generic_category(), path); };
  const descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail(errno);
  struct stat about{};
  if (::fstat(file.get(), &about) != 0) fail(errno);
  if (S_ISDIR(about.st_mode)) fail(EISDIR);
  if (!S_ISREG(about.st_mode)) fail(EINVAL);
  if (about.st_size == 0) return;
  void* const start =
      ::mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (start == MAP_FAILED) fail(errno);
  start_ = start;
  size_ = static_cast<std::size_t>(about.st_size);
  ::madvise(start_, size_, MADV_SEQUENTIAL);
}

mapped_file::~mapped_file() {
  if (start_ != nullptr) ::munmap(start_, size_);
}

}  // namespace log_analyzer
