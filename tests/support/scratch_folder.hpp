// A folder that a test may fill; destroyed with the object.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace rota::test {

class scratch_folder {
 public:
  scratch_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "rota_test.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    if (::chmod(name.c_str(), 0755) != 0) throw std::runtime_error("chmod failed");
    path_ = name;
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string at(std::string_view name) const { return (path_ / name).string(); }
  [[nodiscard]] std::string root() const { return path_.string(); }

  void write(std::string_view name, std::string_view content) const {
    std::filesystem::create_directories(std::filesystem::path(at(name)).parent_path());
    std::ofstream(at(name), std::ios::binary) << content;
  }
  /// Returns true if RWF_NOWAIT reads cached data. On overlayfs each read goes to a thread or to the ring.
  [[nodiscard]] bool reads_in_memory() const {
    const std::string name = at(".reads_in_memory");
    std::ofstream(name) << "1";
    const int file = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
    char one = 0;
    iovec into{&one, 1};
    const bool can = file >= 0 && ::preadv2(file, &into, 1, 0, RWF_NOWAIT) == 1;
    if (file >= 0) ::close(file);
    std::filesystem::remove(name);
    return can;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace rota::test
