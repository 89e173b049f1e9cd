// A file as text.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

namespace file_server::testing {

inline std::string read_file(const std::string& name) {
  std::ostringstream out;
  out << std::ifstream(name).rdbuf();
  return out.str();
}

}  // namespace file_server::testing
