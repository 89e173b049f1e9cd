// Used if OpenSSL was missing when the program was built.
#include <stdexcept>

#include "encryption.hpp"

namespace file_server {

std::unique_ptr<encryption> make_encryption(const std::string& certificate, const std::string& /*key*/) {
  throw std::invalid_argument("--certificate " + certificate +
                              ": this program was built without OpenSSL, and has no HTTPS");
}

}  // namespace file_server
